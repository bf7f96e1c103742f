-- The epoch: as long as its row is there, no lock was lost. Unlogged as the locks are: a crash and a promotion empty
-- both. See "PostgreSQL" in docs/protocol.md.
CREATE UNLOGGED TABLE auto_mutex.epoch (
  one boolean PRIMARY KEY CHECK (one),
  id uuid NOT NULL,
  server text NOT NULL,
  -- When a client first saw that the locks of the epoch before were lost; 0 for the first epoch.
  began bigint NOT NULL,
  -- `restart` or `failover`.
  cause text NOT NULL,
  -- When a client last tidied up.
  tidied bigint NOT NULL
);

-- What outlives the locks, and is on the standbys too. Every version of the schema has it, with these columns;
-- before 3.0, its name was `note`.
CREATE TABLE auto_mutex.history (
  one boolean PRIMARY KEY CHECK (one),
  server text NOT NULL,
  timeline bigint NOT NULL,
  -- When a client first saw the last promotion; 0 for never.
  promoted bigint NOT NULL,
  -- The longest lease that clients have reported in this week, and in the one before.
  week bigint NOT NULL,
  lease_ms bigint NOT NULL,
  earlier_ms bigint NOT NULL
);
