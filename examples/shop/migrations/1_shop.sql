-- No unique keys, which would be right in a real shop: the tests count what the locks let through.
CREATE TABLE payments (order_id BIGINT NOT NULL);
CREATE TABLE shipments (id BIGINT GENERATED ALWAYS AS IDENTITY, order_id BIGINT NOT NULL, term BIGINT NOT NULL);
