-- The tables. Unlogged: a commit needs no flush, and a crash of the server empties them, like a restart of Redis.
-- Times are in microseconds of the server's clock. docs/protocol.md explains the fields.

-- Keys are compared byte by byte: an index by the rules of a language may not find its rows after an update of those
-- rules.

-- A request for a lock. In the table `tickets`, or, if it is the only one of its name and a plain holder, in
-- `names.sole`.
CREATE UNLOGGED TABLE auto_mutex.tickets (
  name text COLLATE "C" NOT NULL, ticket uuid NOT NULL, member uuid NOT NULL,
  -- 0: it holds; 1: it waits; 2: it waits, but was passed over.
  line smallint NOT NULL,
  place bigint NOT NULL,
  -- When the lease ends; for a waiter, when its place ends.
  ends bigint NOT NULL,
  units bigint NOT NULL, cap bigint NOT NULL, takes boolean NOT NULL,
  -- The signal that it holds.
  number bigint, text text,
  hold_ms bigint NOT NULL, place_ms bigint NOT NULL, counter bigint NOT NULL,
  heard bigint NOT NULL, told bigint NOT NULL, token bigint NOT NULL,
  -- 0: plain; 1: provisional; 2: parked.
  flag smallint NOT NULL,
  -- 0: no; 1: kept after the call; 2: kept now.
  retain smallint NOT NULL,
  meta text NOT NULL,
  PRIMARY KEY (name, ticket)
) WITH (fillfactor = 70);

CREATE INDEX tickets_by_place ON auto_mutex.tickets (name, line, place);

-- The names, each with what an operation needs in most cases. An update in place touches no index, if
-- its page has room until old versions are removed: with 50, one in four updates found none.
CREATE UNLOGGED TABLE auto_mutex.names (
  name text COLLATE "C" PRIMARY KEY,
  tok bigint NOT NULL, cap bigint, seq bigint NOT NULL, clk bigint NOT NULL, last bigint NOT NULL, known boolean NOT NULL,
  -- How many tickets hold, how many wait, and how many signals and tombstones there are.
  held integer NOT NULL, waiting integer NOT NULL, signals integer NOT NULL, gone integer NOT NULL,
  -- No lease and no place of its tickets ends before.
  soonest bigint NOT NULL,
  kick_at bigint, kick_token bigint, kick_by text,
  sole auto_mutex.tickets
) WITH (fillfactor = 30);

CREATE UNLOGGED TABLE auto_mutex.signals (
  name text COLLATE "C" NOT NULL, number bigint NOT NULL, text text NOT NULL,
  PRIMARY KEY (name, number)
);

CREATE UNLOGGED TABLE auto_mutex.gone (
  name text COLLATE "C" NOT NULL, ticket uuid NOT NULL, until bigint NOT NULL,
  PRIMARY KEY (name, ticket)
);

-- The clients. Others cannot guess the channel of a member, nor can they see it.
CREATE UNLOGGED TABLE auto_mutex.members (
  member uuid PRIMARY KEY,
  -- When it has come, or asked for its messages.
  heard bigint NOT NULL,
  -- Where it listens, the process that does so, and the number that this process has locked as long as it is there.
  -- NULL for a member that asks for its messages instead.
  channel uuid, pid integer, presence bigint
) WITH (fillfactor = 50);

-- Messages for members that ask for them.
CREATE UNLOGGED TABLE auto_mutex.mail (member uuid NOT NULL, sent bigint NOT NULL, message text NOT NULL);

CREATE INDEX mail_by_member ON auto_mutex.mail (member);

-- The greatest fencing token that was checked, of each name. A row is locked until the transaction that writes has
-- ended; the rows of the locks are not, so that leases can be renewed meanwhile.
CREATE UNLOGGED TABLE auto_mutex.fences (name text COLLATE "C" PRIMARY KEY, token bigint NOT NULL) WITH (fillfactor = 50);
