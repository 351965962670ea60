-- +goose Up
-- The six tables of the SMS document under their own names, for readers of the database. tenant, state and the like are
-- ours, and so are the ids, which are texts. A number of the mainland is shown without +86. A task that was
-- imported has the task_id it had. Where a database has tables of these names, as the document's own has, they
-- stay, and the views are left out.

SET @make = IF(EXISTS (SELECT 1 FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = 'sms_tasks' AND table_type = 'BASE TABLE'), 'DO 0', "
CREATE OR REPLACE VIEW sms_tasks AS
SELECT d.id AS id, CASE WHEN m.dedup_key = CONCAT('lksms:', m.ref) THEN CONVERT(m.ref USING utf8mb4) COLLATE utf8mb4_bin ELSE CONVERT(d.id USING utf8mb4) COLLATE utf8mb4_bin END AS task_id, CASE WHEN d.address LIKE '+86%' THEN substr(d.address, 4) ELSE d.address END AS phone_number, JSON_UNQUOTE(JSON_EXTRACT(NULLIF(m.content, ''), '$.text')) AS content,
  CASE WHEN d.state = 'pending' THEN 0 WHEN d.state IN ('sending', 'unknown') THEN 1 WHEN d.state IN ('sent', 'delivered') THEN 2 ELSE 3 END AS status,
  NULLIF(m.source, '') AS source, CASE WHEN (d.state IN ('failed', 'unknown') OR (e.type = 'evidence' AND e.from_state = 'failed')) AND d.tries > 0 THEN d.tries - 1 ELSE d.tries END AS retry_count,
  CASE WHEN d.state = 'sending' THEN NULLIF(substr(d.lease_owner, 7), '') END AS processing_app_id,
  CASE WHEN d.state IN ('sent', 'delivered') THEN NULL WHEN e.type = 'hold_timeout' THEN '处理超时，超过最大重试次数' WHEN e.type = 'resend' THEN '处理超时，自动重试'
    ELSE NULLIF(substr(CONCAT(CASE WHEN d.state = 'failed' AND d.reason = 'tries_used_up' THEN '超过最大重试次数: ' ELSE '' END, d.last_error), 1, 500), '') END AS result,
  TIMESTAMPADD(MICROSECOND, d.created_at, TIMESTAMP '1970-01-01 00:00:00') AS created_at, TIMESTAMPADD(MICROSECOND, d.updated_at, TIMESTAMP '1970-01-01 00:00:00') AS updated_at,
  CASE WHEN d.state IN ('sent', 'delivered') THEN TIMESTAMPADD(MICROSECOND, d.updated_at, TIMESTAMP '1970-01-01 00:00:00') END AS sent_at,
  CASE WHEN d.state NOT IN ('pending', 'sending', 'unknown', 'quarantined') THEN TIMESTAMPADD(MICROSECOND, d.updated_at, TIMESTAMP '1970-01-01 00:00:00') END AS reported_at,
  d.tenant AS tenant, d.state AS state
FROM deliveries d JOIN messages m ON m.id = CONCAT(substr(d.id, 1, 22), '0000') LEFT JOIN events e ON e.delivery = d.id AND e.version = d.version
WHERE m.kind = 'sms'");
PREPARE make FROM @make;
EXECUTE make;

SET @make = IF(EXISTS (SELECT 1 FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = 'sms_templates' AND table_type = 'BASE TABLE'), 'DO 0', "
CREATE OR REPLACE VIEW sms_templates AS
SELECT id, name AS template_name, body AS template_content, (active <> 0) AS is_active,
  TIMESTAMPADD(MICROSECOND, created_at, TIMESTAMP '1970-01-01 00:00:00') AS created_at, TIMESTAMPADD(MICROSECOND, updated_at, TIMESTAMP '1970-01-01 00:00:00') AS updated_at, tenant
FROM sms_texts");
PREPARE make FROM @make;
EXECUTE make;

SET @make = IF(EXISTS (SELECT 1 FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = 'default_sms_data' AND table_type = 'BASE TABLE'), 'DO 0', "
CREATE OR REPLACE VIEW default_sms_data AS
SELECT s.phone AS id, CASE WHEN s.phone LIKE '+86%' THEN substr(s.phone, 4) ELSE s.phone END AS phone_number, s.body AS content, (s.templated <> 0) AS use_template,
  (s.sent <> 0 OR EXISTS (SELECT 1 FROM channels c JOIN dedup k ON k.tenant = c.tenant AND k.channel = c.name
    WHERE c.tenant = s.tenant AND c.driver = 'pull' AND k.dedup_key = CONCAT('default_sms:', s.phone, ':', s.generation))) AS is_sent,
  TIMESTAMPADD(MICROSECOND, s.created_at, TIMESTAMP '1970-01-01 00:00:00') AS created_at, TIMESTAMPADD(MICROSECOND, s.updated_at, TIMESTAMP '1970-01-01 00:00:00') AS updated_at, s.tenant AS tenant
FROM default_sms s");
PREPARE make FROM @make;
EXECUTE make;

SET @make = IF(EXISTS (SELECT 1 FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = 'receive_logs' AND table_type = 'BASE TABLE'), 'DO 0', "
CREATE OR REPLACE VIEW receive_logs AS
SELECT id, NULLIF(request_id, '') AS request_id, CASE WHEN phone LIKE '+86%' THEN substr(phone, 4) ELSE phone END AS phone_number, NULLIF(content, '') AS content, (templated <> 0) AS use_template,
  source_ip, user_agent, NULLIF(request, '') AS request_data, NULLIF(response, '') AS response_data, status AS status_code,
  TIMESTAMPADD(MICROSECOND, at, TIMESTAMP '1970-01-01 00:00:00') AS created_at, NULLIF(delivery, '') AS delivery, tenant
FROM receive_log");
PREPARE make FROM @make;
EXECUTE make;

SET @make = IF(EXISTS (SELECT 1 FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = 'send_logs' AND table_type = 'BASE TABLE'), 'DO 0', "
CREATE OR REPLACE VIEW send_logs AS
SELECT CONCAT(l.delivery, ':', l.token) AS id, CASE WHEN m.dedup_key = CONCAT('lksms:', m.ref) THEN CONVERT(m.ref USING utf8mb4) COLLATE utf8mb4_bin ELSE CONVERT(d.id USING utf8mb4) COLLATE utf8mb4_bin END AS task_id, l.agent AS app_id, CASE WHEN d.address LIKE '+86%' THEN substr(d.address, 4) ELSE d.address END AS phone_number, JSON_UNQUOTE(JSON_EXTRACT(NULLIF(m.content, ''), '$.text')) AS content,
  NULLIF(l.request, '') AS request_data, NULL AS response_data, TIMESTAMPADD(MICROSECOND, l.at, TIMESTAMP '1970-01-01 00:00:00') AS created_at, l.tenant AS tenant
FROM send_log l JOIN deliveries d ON d.id = l.delivery JOIN messages m ON m.id = CONCAT(substr(d.id, 1, 22), '0000')");
PREPARE make FROM @make;
EXECUTE make;

SET @make = IF(EXISTS (SELECT 1 FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = 'report_logs' AND table_type = 'BASE TABLE'), 'DO 0', "
CREATE OR REPLACE VIEW report_logs AS
SELECT l.id AS id, CASE WHEN m.dedup_key = CONCAT('lksms:', m.ref) THEN CONVERT(m.ref USING utf8mb4) COLLATE utf8mb4_bin ELSE CONVERT(d.id USING utf8mb4) COLLATE utf8mb4_bin END AS task_id, l.agent AS app_id, CASE WHEN l.outcome IN ('sent', 'delivered') THEN 2 ELSE 3 END AS status,
  NULLIF(substr(l.error, 1, 500), '') AS error_message, NULLIF(l.request, '') AS request_data, TIMESTAMPADD(MICROSECOND, l.at, TIMESTAMP '1970-01-01 00:00:00') AS created_at,
  l.outcome AS outcome, l.answer AS answer, l.tenant AS tenant
FROM report_log l JOIN deliveries d ON d.id = l.delivery JOIN messages m ON m.id = CONCAT(substr(d.id, 1, 22), '0000')");
PREPARE make FROM @make;
EXECUTE make;

-- +goose Down
DROP VIEW report_logs;
DROP VIEW send_logs;
DROP VIEW receive_logs;
DROP VIEW default_sms_data;
DROP VIEW sms_templates;
DROP VIEW sms_tasks;
