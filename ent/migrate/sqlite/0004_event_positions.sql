-- Subscribers receive events by position instead of one mark for all. Events that were dispatched have position 0.
DROP INDEX `event_id`;
ALTER TABLE `events` ADD COLUMN `position` integer NULL;
UPDATE `events` SET `position` = 0 WHERE `dispatched_at` IS NOT NULL;
ALTER TABLE `events` DROP COLUMN `dispatched_at`;
-- create index "event_id" to table: "events"
CREATE INDEX `event_id` ON `events` (`id`) WHERE position IS NULL;
-- create index "event_position" to table: "events"
CREATE UNIQUE INDEX `event_position` ON `events` (`position`) WHERE position > 0;
-- create "event_cursors" table
CREATE TABLE `event_cursors` (`id` integer NOT NULL PRIMARY KEY AUTOINCREMENT, `subscriber` text NOT NULL, `subject` text NOT NULL DEFAULT (''), `position` integer NOT NULL, `attempts` integer NOT NULL DEFAULT (0), `retry_at` datetime NULL, `reason` text NULL, `created_at` datetime NOT NULL);
-- create index "eventcursor_subscriber_subject" to table: "event_cursors"
CREATE UNIQUE INDEX `eventcursor_subscriber_subject` ON `event_cursors` (`subscriber`, `subject`);
