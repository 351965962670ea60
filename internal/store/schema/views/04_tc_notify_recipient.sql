-- A recipient is a delivery. What was sent stays sent whatever becomes of its job, and has no error: of the tries
-- before, the attempts tell.
SELECT d.id AS id, COALESCE({{json "NULLIF(m.options, '')" "reminder"}}, m.id) AS job_id, d.user_id AS user_id,
  CASE WHEN d.state IN ('sent', 'delivered') THEN 1 WHEN d.state IN ('failed', 'undelivered', 'expired', 'quarantined') THEN 2
       WHEN k.status IN (3, 4) THEN k.status
       WHEN d.state IN ('cancelled', 'suppressed') OR k.deleted = 1 THEN 3 ELSE 0 END AS status,
  CASE WHEN d.state NOT IN ('sent', 'delivered') THEN NULLIF(substr({{cat "CASE d.state WHEN 'expired' THEN 'its deadline passed before it could be sent' WHEN 'suppressed' THEN 'a rule said no' ELSE '' END" "CASE WHEN d.state = 'suppressed' AND d.reason <> '' THEN ': ' ELSE '' END" "CASE WHEN d.state = 'suppressed' THEN d.reason ELSE '' END" "CASE WHEN d.state IN ('expired', 'suppressed') AND d.last_error <> '' THEN ': ' ELSE '' END" "d.last_error"}}, 1, 255), '') END AS last_error, NULLIF(d.provider_ref, '') AS external_msgid, COALESCE(k.deleted, 0) AS del_flag,
  m.source AS create_by, {{time "d.created_at"}} AS create_time, NULLIF(k.update_by, '') AS update_by,
  {{time "d.updated_at"}} AS update_time, d.tenant AS tenant, d.state AS state
FROM posthouse_deliveries d JOIN posthouse_messages m ON m.id = {{message "d.id"}}
LEFT JOIN posthouse_notify_marks k ON k.tenant = m.tenant AND k.job = COALESCE({{json "NULLIF(m.options, '')" "reminder"}}, m.id)
WHERE m.kind IN {{kinds}} AND m.channel IN ('oa', 'dingtalk')
