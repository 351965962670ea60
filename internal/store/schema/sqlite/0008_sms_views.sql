-- +goose Up
-- The six tables of the SMS document under their own names, for readers of the database. tenant, state and the like are
-- ours, and so are the ids, which are texts. A number of the mainland is shown without +86. A task that was
-- imported has the task_id it had. Where a database has tables of these names, as the document's own has, they
-- stay, and the views are left out.

CREATE VIEW IF NOT EXISTS sms_tasks AS
SELECT d.id AS id, CASE WHEN m.dedup_key = 'lksms:' || m.ref THEN m.ref ELSE d.id END AS task_id, CASE WHEN d.address LIKE '+86%' THEN substr(d.address, 4) ELSE d.address END AS phone_number, json_extract(NULLIF(m.content, ''), '$.text') AS content,
  CASE WHEN d.state = 'pending' THEN 0 WHEN d.state IN ('sending', 'unknown') THEN 1 WHEN d.state IN ('sent', 'delivered') THEN 2 ELSE 3 END AS status,
  NULLIF(m.source, '') AS source, CASE WHEN (d.state IN ('failed', 'unknown') OR (e.type = 'evidence' AND e.from_state = 'failed')) AND d.tries > 0 THEN d.tries - 1 ELSE d.tries END AS retry_count,
  CASE WHEN d.state = 'sending' THEN NULLIF(substr(d.lease_owner, 7), '') END AS processing_app_id,
  CASE WHEN d.state IN ('sent', 'delivered') THEN NULL WHEN e.type = 'hold_timeout' THEN '处理超时，超过最大重试次数' WHEN e.type = 'resend' THEN '处理超时，自动重试'
    ELSE NULLIF(substr(CASE WHEN d.state = 'failed' AND d.reason = 'tries_used_up' THEN '超过最大重试次数: ' ELSE '' END || d.last_error, 1, 500), '') END AS result,
  strftime('%Y-%m-%d %H:%M:%f', d.created_at / 1000000.0, 'unixepoch') AS created_at, strftime('%Y-%m-%d %H:%M:%f', d.updated_at / 1000000.0, 'unixepoch') AS updated_at,
  CASE WHEN d.state IN ('sent', 'delivered') THEN strftime('%Y-%m-%d %H:%M:%f', d.updated_at / 1000000.0, 'unixepoch') END AS sent_at,
  CASE WHEN d.state NOT IN ('pending', 'sending', 'unknown', 'quarantined') THEN strftime('%Y-%m-%d %H:%M:%f', d.updated_at / 1000000.0, 'unixepoch') END AS reported_at,
  d.tenant AS tenant, d.state AS state
FROM deliveries d JOIN messages m ON m.id = substr(d.id, 1, 22) || '0000' LEFT JOIN events e ON e.delivery = d.id AND e.version = d.version
WHERE m.kind = 'sms';

CREATE VIEW IF NOT EXISTS sms_templates AS
SELECT id, name AS template_name, body AS template_content, (active <> 0) AS is_active,
  strftime('%Y-%m-%d %H:%M:%f', created_at / 1000000.0, 'unixepoch') AS created_at, strftime('%Y-%m-%d %H:%M:%f', updated_at / 1000000.0, 'unixepoch') AS updated_at, tenant
FROM sms_texts;

CREATE VIEW IF NOT EXISTS default_sms_data AS
SELECT s.phone AS id, CASE WHEN s.phone LIKE '+86%' THEN substr(s.phone, 4) ELSE s.phone END AS phone_number, s.body AS content, (s.templated <> 0) AS use_template,
  (s.sent <> 0 OR EXISTS (SELECT 1 FROM channels c JOIN dedup k ON k.tenant = c.tenant AND k.channel = c.name
    WHERE c.tenant = s.tenant AND c.driver = 'pull' AND k.dedup_key = 'default_sms:' || s.phone || ':' || s.generation)) AS is_sent,
  strftime('%Y-%m-%d %H:%M:%f', s.created_at / 1000000.0, 'unixepoch') AS created_at, strftime('%Y-%m-%d %H:%M:%f', s.updated_at / 1000000.0, 'unixepoch') AS updated_at, s.tenant AS tenant
FROM default_sms s;

CREATE VIEW IF NOT EXISTS receive_logs AS
SELECT id, NULLIF(request_id, '') AS request_id, CASE WHEN phone LIKE '+86%' THEN substr(phone, 4) ELSE phone END AS phone_number, NULLIF(content, '') AS content, (templated <> 0) AS use_template,
  source_ip, user_agent, NULLIF(request, '') AS request_data, NULLIF(response, '') AS response_data, status AS status_code,
  strftime('%Y-%m-%d %H:%M:%f', at / 1000000.0, 'unixepoch') AS created_at, NULLIF(delivery, '') AS delivery, tenant
FROM receive_log;

CREATE VIEW IF NOT EXISTS send_logs AS
SELECT l.delivery || ':' || l.token AS id, CASE WHEN m.dedup_key = 'lksms:' || m.ref THEN m.ref ELSE d.id END AS task_id, l.agent AS app_id, CASE WHEN d.address LIKE '+86%' THEN substr(d.address, 4) ELSE d.address END AS phone_number, json_extract(NULLIF(m.content, ''), '$.text') AS content,
  NULLIF(l.request, '') AS request_data, NULL AS response_data, strftime('%Y-%m-%d %H:%M:%f', l.at / 1000000.0, 'unixepoch') AS created_at, l.tenant AS tenant
FROM send_log l JOIN deliveries d ON d.id = l.delivery JOIN messages m ON m.id = substr(d.id, 1, 22) || '0000';

CREATE VIEW IF NOT EXISTS report_logs AS
SELECT l.id AS id, CASE WHEN m.dedup_key = 'lksms:' || m.ref THEN m.ref ELSE d.id END AS task_id, l.agent AS app_id, CASE WHEN l.outcome IN ('sent', 'delivered') THEN 2 ELSE 3 END AS status,
  NULLIF(substr(l.error, 1, 500), '') AS error_message, NULLIF(l.request, '') AS request_data, strftime('%Y-%m-%d %H:%M:%f', l.at / 1000000.0, 'unixepoch') AS created_at,
  l.outcome AS outcome, l.answer AS answer, l.tenant AS tenant
FROM report_log l JOIN deliveries d ON d.id = l.delivery JOIN messages m ON m.id = substr(d.id, 1, 22) || '0000';

-- +goose Down
DROP VIEW report_logs;
DROP VIEW send_logs;
DROP VIEW receive_logs;
DROP VIEW default_sms_data;
DROP VIEW sms_templates;
DROP VIEW sms_tasks;
