-- What happened to an access request or a personnel event, and what people said about it. The number is the order:
-- whoever writes holds the item, while a time may have been taken before waiting for it.
CREATE TABLE activity (
    number       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    item_id      uuid NOT NULL,
    created_date timestamptz NOT NULL,
    author       text NOT NULL,
    action       text,
    content      text NOT NULL
);
CREATE INDEX ON activity (item_id, number);

CREATE TABLE comments (
    number       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    item_id      uuid NOT NULL,
    created_date timestamptz NOT NULL,
    author       text NOT NULL,
    content      text NOT NULL
);
CREATE INDEX ON comments (item_id, number);
