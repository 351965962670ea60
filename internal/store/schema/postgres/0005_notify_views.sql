-- +goose Up
-- The four tables of the notification document under their own names, for readers of the database. They show
-- the six kinds of the document on the two channels it has numbers for; tenant, kind, biz_ref and state are
-- ours. Ids are texts. biz_id is a number where biz_ref is one, and else NULL.

-- A job is a message, or a reminder with all the messages it became. Its status is the one it was given, or else
-- follows from its deliveries, those that were sent again left out: 0 something is still to be sent, 2 something
-- was not and will not be, 1 all was sent, 3 all was cancelled or suppressed. Of a reminder what failed in one round
-- is made good by a later round of which something was sent. next_run_time is not before its account's gate opens.
CREATE VIEW tc_notify_job AS
SELECT j.id AS id, CASE j.kind WHEN 'task_created' THEN 0 WHEN 'node_done' THEN 1 WHEN 'orbit_remind' THEN 2 WHEN 'task_finished' THEN 3 WHEN 'task_abnormal' THEN 4 WHEN 'node_timeout' THEN 5 END AS biz_type,
  CASE WHEN j.biz_ref ~ '^[0-9]{1,18}$' OR (j.biz_ref ~ '^[0-9]{19}$' AND j.biz_ref <= '9223372036854775807') THEN j.biz_ref::bigint END AS biz_id,
  NULLIF(j.dedup_key, '') AS dedup_key, COALESCE(NULLIF(j.payload, ''), '{}') AS payload, CASE j.channel WHEN 'oa' THEN 0 WHEN 'dingtalk' THEN 1 END AS channel,
  CASE WHEN k.status IN (3, 4) THEN k.status WHEN j.waiting > 0 AND COALESCE(k.deleted, 0) = 0 THEN 0 WHEN j.failing > j.repeated THEN 2 WHEN j.sent > 0 THEN 1 ELSE 3 END AS status,
  j.retry_count AS retry_count, to_timestamp(j.next_run / 1000000.0) AS next_run_time, NULLIF(j.remark, '') AS remark, COALESCE(k.deleted, 0) AS del_flag,
  j.source AS create_by, to_timestamp(j.created_at / 1000000.0) AS create_time,
  NULLIF(k.update_by, '') AS update_by, to_timestamp(GREATEST(j.updated_at, COALESCE(k.updated_at, 0)) / 1000000.0) AS update_time,
  j.tenant AS tenant, j.kind AS kind, j.biz_ref AS biz_ref
FROM (
  SELECT m.id AS id, m.tenant AS tenant, m.kind AS kind, m.ref AS biz_ref, m.channel AS channel, m.dedup_key AS dedup_key,
    m.payload AS payload, m.source AS source, CASE WHEN EXISTS (SELECT 1 FROM messages r JOIN queue d ON d.id > r.id AND d.id <= substr(r.id, 1, 22) || 'ZZZZ' WHERE r.id = m.id AND d.state = 'unknown' AND d.due_at = 0) THEN 'held for a person: nobody knows whether it arrived. Decide with posthouse resolve: sent, not_sent or retry' ELSE '' END AS remark, m.created_at AS created_at,
    (SELECT COUNT(*) FROM messages r JOIN queue d ON d.id > r.id AND d.id <= substr(r.id, 1, 22) || 'ZZZZ' WHERE r.id = m.id AND d.state <> 'quarantined') AS waiting,
    (SELECT COUNT(*) FROM messages r JOIN settled d ON d.id > r.id AND d.id <= substr(r.id, 1, 22) || 'ZZZZ' WHERE r.id = m.id AND d.state IN ('failed', 'undelivered', 'expired'))
      + (SELECT COUNT(*) FROM messages r JOIN queue d ON d.id > r.id AND d.id <= substr(r.id, 1, 22) || 'ZZZZ' WHERE r.id = m.id AND d.state = 'quarantined') AS failing,
    (SELECT COUNT(DISTINCT d.replay_of) FROM messages r JOIN settled d ON d.id > r.id AND d.id <= substr(r.id, 1, 22) || 'ZZZZ' WHERE r.id = m.id AND d.replay_of <> '') AS repeated,
    (SELECT COUNT(*) FROM messages r JOIN settled d ON d.id > r.id AND d.id <= substr(r.id, 1, 22) || 'ZZZZ' WHERE r.id = m.id AND d.state IN ('sent', 'delivered')) AS sent,
    GREATEST(COALESCE((SELECT MAX(d.tries) FROM messages r JOIN queue d ON d.id > r.id AND d.id <= substr(r.id, 1, 22) || 'ZZZZ' WHERE r.id = m.id), 0), COALESCE((SELECT MAX(d.tries) FROM messages r JOIN settled d ON d.id > r.id AND d.id <= substr(r.id, 1, 22) || 'ZZZZ' WHERE r.id = m.id), 0)) AS retry_count,
    COALESCE((SELECT MIN(GREATEST(d.due_at, COALESCE(g.until_at, 0))) FROM messages r JOIN queue d ON d.id > r.id AND d.id <= substr(r.id, 1, 22) || 'ZZZZ' LEFT JOIN gates g ON g.tenant = d.tenant AND g.channel = d.channel AND g.account = d.account WHERE r.id = m.id AND d.state = 'pending' AND GREATEST(d.due_at, COALESCE(g.until_at, 0)) > 0), NULLIF(m.not_before, 0), m.created_at) AS next_run,
    GREATEST(m.created_at, COALESCE((SELECT MAX(d.updated_at) FROM messages r JOIN queue d ON d.id > r.id AND d.id <= substr(r.id, 1, 22) || 'ZZZZ' WHERE r.id = m.id), 0), COALESCE((SELECT MAX(d.updated_at) FROM messages r JOIN settled d ON d.id > r.id AND d.id <= substr(r.id, 1, 22) || 'ZZZZ' WHERE r.id = m.id), 0)) AS updated_at
  FROM messages m WHERE m.kind IN ('task_created', 'node_done', 'orbit_remind', 'task_finished', 'task_abnormal', 'node_timeout') AND m.channel IN ('oa', 'dingtalk')
    AND (m.options = '' OR (m.options::json ->> 'reminder') IS NULL)
  UNION ALL
  SELECT p.id AS id, p.tenant AS tenant, p.kind AS kind, p.ref AS biz_ref, (p.doc::json -> 'draft' ->> 'channel') AS channel,
    COALESCE((p.doc::json -> 'draft' ->> 'dedup_key'), '') AS dedup_key, (p.doc::json -> 'draft' -> 'payload')::text AS payload,
    COALESCE((p.doc::json -> 'draft' ->> 'source'), '') AS source, CASE WHEN p.error = '' AND EXISTS (SELECT 1 FROM messages r JOIN queue d ON d.id > r.id AND d.id <= substr(r.id, 1, 22) || 'ZZZZ' WHERE r.tenant = p.tenant AND r.kind = p.kind AND r.ref = p.ref AND r.options <> '' AND (r.options::json ->> 'reminder') = p.id AND d.state = 'unknown' AND d.due_at = 0) THEN 'held for a person: nobody knows whether it arrived. Decide with posthouse resolve: sent, not_sent or retry' ELSE substr(p.error, 1, 255) END AS remark, p.created_at AS created_at,
    (CASE WHEN (p.doc::json ->> 'state') = 'open' THEN 1 ELSE 0 END) + (SELECT COUNT(*) FROM messages r JOIN queue d ON d.id > r.id AND d.id <= substr(r.id, 1, 22) || 'ZZZZ' WHERE r.tenant = p.tenant AND r.kind = p.kind AND r.ref = p.ref AND r.options <> '' AND (r.options::json ->> 'reminder') = p.id AND d.state <> 'quarantined') AS waiting,
    (SELECT COUNT(*) FROM messages r JOIN settled d ON d.id > r.id AND d.id <= substr(r.id, 1, 22) || 'ZZZZ' WHERE r.tenant = p.tenant AND r.kind = p.kind AND r.ref = p.ref AND r.options <> '' AND (r.options::json ->> 'reminder') = p.id AND d.state IN ('failed', 'undelivered', 'expired') AND NOT EXISTS (SELECT 1 FROM messages l JOIN settled s ON s.id > l.id AND s.id <= substr(l.id, 1, 22) || 'ZZZZ' WHERE l.tenant = p.tenant AND l.kind = p.kind AND l.ref = p.ref AND l.id > r.id AND l.options <> '' AND (l.options::json ->> 'reminder') = p.id AND s.state IN ('sent', 'delivered')))
      + (SELECT COUNT(*) FROM messages r JOIN queue d ON d.id > r.id AND d.id <= substr(r.id, 1, 22) || 'ZZZZ' WHERE r.tenant = p.tenant AND r.kind = p.kind AND r.ref = p.ref AND r.options <> '' AND (r.options::json ->> 'reminder') = p.id AND d.state = 'quarantined' AND NOT EXISTS (SELECT 1 FROM messages l JOIN settled s ON s.id > l.id AND s.id <= substr(l.id, 1, 22) || 'ZZZZ' WHERE l.tenant = p.tenant AND l.kind = p.kind AND l.ref = p.ref AND l.id > r.id AND l.options <> '' AND (l.options::json ->> 'reminder') = p.id AND s.state IN ('sent', 'delivered'))) AS failing,
    (SELECT COUNT(DISTINCT d.replay_of) FROM messages r JOIN settled d ON d.id > r.id AND d.id <= substr(r.id, 1, 22) || 'ZZZZ' WHERE r.tenant = p.tenant AND r.kind = p.kind AND r.ref = p.ref AND r.options <> '' AND (r.options::json ->> 'reminder') = p.id AND d.replay_of <> '' AND NOT EXISTS (SELECT 1 FROM messages l JOIN settled s ON s.id > l.id AND s.id <= substr(l.id, 1, 22) || 'ZZZZ' WHERE l.tenant = p.tenant AND l.kind = p.kind AND l.ref = p.ref AND l.id > r.id AND l.options <> '' AND (l.options::json ->> 'reminder') = p.id AND s.state IN ('sent', 'delivered'))) AS repeated,
    (SELECT COUNT(*) FROM messages r JOIN settled d ON d.id > r.id AND d.id <= substr(r.id, 1, 22) || 'ZZZZ' WHERE r.tenant = p.tenant AND r.kind = p.kind AND r.ref = p.ref AND r.options <> '' AND (r.options::json ->> 'reminder') = p.id AND d.state IN ('sent', 'delivered')) AS sent,
    GREATEST(COALESCE((SELECT MAX(d.tries) FROM messages r JOIN queue d ON d.id > r.id AND d.id <= substr(r.id, 1, 22) || 'ZZZZ' WHERE r.id = (p.doc::json ->> 'last_message')), 0), COALESCE((SELECT MAX(d.tries) FROM messages r JOIN settled d ON d.id > r.id AND d.id <= substr(r.id, 1, 22) || 'ZZZZ' WHERE r.id = (p.doc::json ->> 'last_message')), 0)) AS retry_count,
    COALESCE(NULLIF(p.next_at, 0), p.updated_at) AS next_run,
    GREATEST(p.updated_at, COALESCE((SELECT MAX(d.updated_at) FROM messages r JOIN queue d ON d.id > r.id AND d.id <= substr(r.id, 1, 22) || 'ZZZZ' WHERE r.tenant = p.tenant AND r.kind = p.kind AND r.ref = p.ref AND r.options <> '' AND (r.options::json ->> 'reminder') = p.id), 0), COALESCE((SELECT MAX(d.updated_at) FROM messages r JOIN settled d ON d.id > r.id AND d.id <= substr(r.id, 1, 22) || 'ZZZZ' WHERE r.tenant = p.tenant AND r.kind = p.kind AND r.ref = p.ref AND r.options <> '' AND (r.options::json ->> 'reminder') = p.id), 0)) AS updated_at
  FROM plans p WHERE p.type = 'reminder' AND p.kind IN ('task_created', 'node_done', 'orbit_remind', 'task_finished', 'task_abnormal', 'node_timeout') AND (p.doc::json -> 'draft' ->> 'channel') IN ('oa', 'dingtalk')
) j LEFT JOIN notify_marks k ON k.tenant = j.tenant AND k.job = j.id;

-- A recipient is a delivery. What was sent stays sent whatever becomes of its job, and has no error: of the tries
-- before, the attempts tell.
CREATE VIEW tc_notify_recipient AS
SELECT d.id AS id, COALESCE((NULLIF(m.options, '')::json ->> 'reminder'), m.id) AS job_id, d.user_id AS user_id,
  CASE WHEN d.state IN ('sent', 'delivered') THEN 1 WHEN d.state IN ('failed', 'undelivered', 'expired', 'quarantined') THEN 2
       WHEN k.status IN (3, 4) THEN k.status
       WHEN d.state IN ('cancelled', 'suppressed') OR k.deleted = 1 THEN 3 ELSE 0 END AS status,
  CASE WHEN d.state NOT IN ('sent', 'delivered') THEN NULLIF(substr(d.last_error, 1, 255), '') END AS last_error, NULLIF(d.provider_ref, '') AS external_msgid, COALESCE(k.deleted, 0) AS del_flag,
  m.source AS create_by, to_timestamp(d.created_at / 1000000.0) AS create_time, NULLIF(k.update_by, '') AS update_by,
  to_timestamp(d.updated_at / 1000000.0) AS update_time, d.tenant AS tenant, d.state AS state
FROM deliveries d JOIN messages m ON m.id = substr(d.id, 1, 22) || '0000'
LEFT JOIN notify_marks k ON k.tenant = m.tenant AND k.job = COALESCE((NULLIF(m.options, '')::json ->> 'reminder'), m.id)
WHERE m.kind IN ('task_created', 'node_done', 'orbit_remind', 'task_finished', 'task_abnormal', 'node_timeout') AND m.channel IN ('oa', 'dingtalk');

-- The template that a kind has on a channel: its own, or else the kind's for all channels.
CREATE VIEW tc_notify_template AS
SELECT t.name AS id, b.biz_type AS biz_type, c.channel AS channel, t.title AS title_tpl, t.body AS content_tpl,
  NULLIF(t.external_id, '') AS external_tpl_id, 1 - t.disabled AS enabled, 0 AS del_flag, NULL AS create_by,
  to_timestamp(t.created_at / 1000000.0) AS create_time, NULL AS update_by, to_timestamp(t.created_at / 1000000.0) AS update_time, t.tenant AS tenant
FROM templates t
CROSS JOIN (SELECT 0 AS biz_type, 'task_created' AS kind UNION ALL SELECT 1, 'node_done' UNION ALL SELECT 2, 'orbit_remind' UNION ALL SELECT 3, 'task_finished' UNION ALL SELECT 4, 'task_abnormal' UNION ALL SELECT 5, 'node_timeout') b
CROSS JOIN (SELECT 0 AS channel, 'oa' AS name UNION ALL SELECT 1, 'dingtalk') c
WHERE t.version = (SELECT MAX(l.version) FROM templates l WHERE l.tenant = t.tenant AND l.name = t.name)
  AND (t.name = b.kind || '.' || c.name OR (t.name = b.kind AND NOT EXISTS (SELECT 1 FROM templates o WHERE o.tenant = t.tenant AND o.name = b.kind || '.' || c.name)));

-- config_json has only what the document asks of DingTalk's gateway. Everything else in a configuration may be, or
-- may hold, a secret.
CREATE VIEW tc_notify_channel_config AS
SELECT h.name AS id, CASE h.name WHEN 'oa' THEN 0 WHEN 'dingtalk' THEN 1 END AS channel,
  CASE WHEN h.driver = 'dingtalk' THEN json_build_object('baseUrl', h.config::json ->> 'baseUrl', 'agentId', h.config::json ->> 'agentId', 'corpId', h.config::json ->> 'corpId')::text ELSE '{}' END AS config_json,
  1 - h.paused AS enabled, 0 AS del_flag, NULL AS create_by, to_timestamp(h.created_at / 1000000.0) AS create_time,
  NULL AS update_by, to_timestamp(h.updated_at / 1000000.0) AS update_time, h.tenant AS tenant
FROM channels h WHERE h.name IN ('oa', 'dingtalk');

-- +goose Down
DROP VIEW tc_notify_channel_config;
DROP VIEW tc_notify_template;
DROP VIEW tc_notify_recipient;
DROP VIEW tc_notify_job;
