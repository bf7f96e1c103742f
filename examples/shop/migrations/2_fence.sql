-- The greatest fencing token that has written, for each lock of auto-mutex.
CREATE TABLE auto_mutex_fence (
    name TEXT PRIMARY KEY,
    token BIGINT NOT NULL
);
