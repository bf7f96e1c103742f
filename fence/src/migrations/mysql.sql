-- The greatest fencing token that has written, for each lock of auto-mutex.
CREATE TABLE auto_mutex_fence (
    name VARBINARY(1024) PRIMARY KEY,
    token BIGINT NOT NULL
) ENGINE = InnoDB;
