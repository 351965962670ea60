-- A job is a message, or a reminder with all the messages it became. Its status is the one it was given, or else
-- follows from its deliveries, those that were sent again left out: 0 something is still to be sent, 2 something
-- was not and will not be, 1 all was sent, 3 all was cancelled or suppressed. Of a reminder what failed in one round
-- is made good by a later round of which something was sent. next_run_time is not before its account's gate opens.
SELECT j.id AS id, CASE j.kind WHEN 'task_created' THEN 0 WHEN 'node_done' THEN 1 WHEN 'orbit_remind' THEN 2 WHEN 'task_finished' THEN 3 WHEN 'task_abnormal' THEN 4 WHEN 'node_timeout' THEN 5 END AS biz_type,
  {{number "j.biz_ref"}} AS biz_id,
  NULLIF(j.dedup_key, '') AS dedup_key, {{document "COALESCE(NULLIF(j.payload, ''), '{}')"}} AS payload, CASE j.channel WHEN 'oa' THEN 0 WHEN 'dingtalk' THEN 1 END AS channel,
  CASE WHEN k.status IN (3, 4) THEN k.status WHEN j.waiting > 0 AND COALESCE(k.deleted, 0) = 0 THEN 0 WHEN j.failing > j.repeated THEN 2 WHEN j.sent > 0 THEN 1 ELSE 3 END AS status,
  j.retry_count AS retry_count, {{time "j.next_run"}} AS next_run_time, CASE WHEN j.remark = {{held}} AND (k.status IN (3, 4) OR k.deleted = 1) THEN {{ended}} ELSE NULLIF(j.remark, '') END AS remark, COALESCE(k.deleted, 0) AS del_flag,
  j.source AS create_by, {{time "j.created_at"}} AS create_time,
  NULLIF(k.update_by, '') AS update_by, {{time (print greatest "(j.updated_at, COALESCE(k.updated_at, 0))")}} AS update_time,
  j.tenant AS tenant, j.kind AS kind, j.biz_ref AS biz_ref, n.number AS number
FROM (
  SELECT {{word "m.id"}} AS id, m.tenant AS tenant, m.kind AS kind, {{word "m.ref"}} AS biz_ref, m.channel AS channel, m.dedup_key AS dedup_key,
    m.payload AS payload, m.source AS source, CASE WHEN EXISTS (SELECT 1 FROM {{deliveries "queue" "d" "r"}} WHERE r.id = m.id AND d.state = 'unknown' AND d.due_at = 0) THEN {{held}} ELSE '' END AS remark, m.created_at AS created_at,
    (SELECT COUNT(*) FROM {{deliveries "queue" "d" "r"}} WHERE r.id = m.id AND d.state <> 'quarantined')
      + CASE WHEN m.sole = 1 AND NOT EXISTS (SELECT 1 FROM posthouse_sent s WHERE s.id = {{sole}}) THEN 1 ELSE 0 END AS waiting,
    (SELECT COUNT(*) FROM {{deliveries "settled" "d" "r"}} WHERE r.id = m.id AND d.state IN ('failed', 'undelivered', 'expired'))
      + (SELECT COUNT(*) FROM {{deliveries "queue" "d" "r"}} WHERE r.id = m.id AND d.state = 'quarantined') AS failing,
    (SELECT COUNT(DISTINCT d.replay_of) FROM {{deliveries "settled" "d" "r"}} WHERE r.id = m.id AND d.replay_of <> '') AS repeated,
    (SELECT COUNT(*) FROM {{deliveries "settled" "d" "r"}} WHERE r.id = m.id AND d.state IN ('sent', 'delivered'))
      + CASE WHEN m.sole = 1 AND EXISTS (SELECT 1 FROM posthouse_sent s WHERE s.id = {{sole}}) THEN 1 ELSE 0 END AS sent,
    {{greatest}}({{most "tries" "r.id = m.id"}}) AS retry_count,
    COALESCE((SELECT MIN({{greatest}}(d.due_at, COALESCE(g.until_at, 0))) FROM {{deliveries "queue" "d" "r"}} LEFT JOIN posthouse_gates g ON g.tenant = d.tenant AND g.channel = d.channel AND g.account = d.account WHERE r.id = m.id AND d.state = 'pending' AND {{greatest}}(d.due_at, COALESCE(g.until_at, 0)) > 0),
      CASE WHEN m.sole = 1 AND NOT EXISTS (SELECT 1 FROM posthouse_sent s WHERE s.id = {{sole}}) THEN {{greatest}}(m.due_at, COALESCE((SELECT g.until_at FROM posthouse_gates g WHERE g.tenant = m.tenant AND g.channel = m.channel AND g.account = m.account), 0)) END,
      NULLIF(m.not_before, 0), m.created_at) AS next_run,
    {{greatest}}(m.created_at, COALESCE((SELECT s.at FROM posthouse_sent s WHERE m.sole = 1 AND s.id = {{sole}}), 0), {{most "updated_at" "r.id = m.id"}}) AS updated_at
  FROM posthouse_messages m WHERE m.kind IN {{kinds}} AND m.channel IN ('oa', 'dingtalk')
    AND (m.options = '' OR {{json "m.options" "reminder"}} IS NULL)
  UNION ALL
  SELECT {{word "p.id"}} AS id, p.tenant AS tenant, p.kind AS kind, {{word "p.ref"}} AS biz_ref, {{json "p.doc" "draft.channel"}} AS channel,
    COALESCE({{json "p.doc" "draft.dedup_key"}}, '') AS dedup_key, {{value "p.doc" "draft.payload"}} AS payload,
    COALESCE({{json "p.doc" "draft.source"}}, '') AS source, CASE WHEN p.error = '' AND EXISTS (SELECT 1 FROM {{deliveries "queue" "d" "r"}} WHERE {{slots "r"}} AND d.state = 'unknown' AND d.due_at = 0) THEN {{held}} ELSE substr(p.error, 1, 255) END AS remark, p.created_at AS created_at,
    (CASE WHEN {{json "p.doc" "state"}} = 'open' THEN 1 ELSE 0 END) + (SELECT COUNT(*) FROM {{deliveries "queue" "d" "r"}} WHERE {{slots "r"}} AND d.state <> 'quarantined') AS waiting,
    (SELECT COUNT(*) FROM {{deliveries "settled" "d" "r"}} WHERE {{slots "r"}} AND d.state IN ('failed', 'undelivered', 'expired') AND {{notMadeGood}})
      + (SELECT COUNT(*) FROM {{deliveries "queue" "d" "r"}} WHERE {{slots "r"}} AND d.state = 'quarantined' AND {{notMadeGood}}) AS failing,
    (SELECT COUNT(DISTINCT d.replay_of) FROM {{deliveries "settled" "d" "r"}} WHERE {{slots "r"}} AND d.replay_of <> '' AND {{notMadeGood}}) AS repeated,
    (SELECT COUNT(*) FROM {{deliveries "settled" "d" "r"}} WHERE {{slots "r"}} AND d.state IN ('sent', 'delivered')) AS sent,
    {{greatest}}({{most "tries" (print "r.id = " (json "p.doc" "last_message"))}}) AS retry_count,
    COALESCE(NULLIF(p.next_at, 0), p.updated_at) AS next_run,
    {{greatest}}(p.updated_at, {{most "updated_at" (slots "r")}}) AS updated_at
  FROM posthouse_plans p WHERE p.type = 'reminder' AND p.kind IN {{kinds}} AND {{json "p.doc" "draft.channel"}} IN ('oa', 'dingtalk')
) j LEFT JOIN posthouse_notify_marks k ON k.tenant = j.tenant AND k.job = j.id LEFT JOIN posthouse_job_numbers n ON n.tenant = j.tenant AND n.job = j.id
