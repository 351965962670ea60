SELECT d.id AS id, {{task}} AS task_id, {{phone "d.address"}} AS phone_number, {{json "NULLIF(m.content, '')" "text"}} AS content,
  CASE WHEN d.state = 'pending' THEN 0 WHEN d.state IN ('sending', 'unknown') THEN 1 WHEN d.state IN ('sent', 'delivered') THEN 2 ELSE 3 END AS status,
  NULLIF(m.source, '') AS source, CASE WHEN (d.state IN ('failed', 'unknown') OR (e.type = 'evidence' AND e.from_state = 'failed')) AND d.tries > 0 THEN d.tries - 1 ELSE d.tries END AS retry_count,
  CASE WHEN d.state = 'sending' THEN NULLIF(substr(d.lease_owner, 7), '') WHEN d.state IN ('sent', 'delivered') OR (d.state = 'failed' AND d.reason = 'no_retry') THEN
    (SELECT substr(o.owner, 7) FROM posthouse_transitions o WHERE o.delivery = d.id AND o.owner LIKE 'agent/%' ORDER BY o.version DESC LIMIT 1) END AS processing_app_id,
  CASE WHEN d.state IN ('sent', 'delivered') THEN '发送成功' WHEN e.type = 'hold_timeout' THEN '处理超时，超过最大重试次数' WHEN e.type = 'resend' THEN '处理超时，自动重试'
    ELSE NULLIF(substr({{cat "CASE WHEN d.state = 'failed' AND d.reason = 'tries_used_up' THEN '超过最大重试次数: ' ELSE '' END" "CASE WHEN d.last_error <> '' THEN d.last_error WHEN d.state = 'expired' THEN '超过截止时间，未发送' WHEN d.state = 'cancelled' THEN '已取消，未发送' WHEN d.state = 'suppressed' THEN '规则限制，未发送' ELSE '' END"}}, 1, 500), '') END AS result,
  {{time "d.created_at"}} AS created_at, {{time "d.updated_at"}} AS updated_at,
  CASE WHEN d.state IN ('sent', 'delivered') THEN {{time "d.updated_at"}} END AS sent_at,
  CASE WHEN d.state NOT IN ('pending', 'sending', 'unknown', 'quarantined') THEN {{time "d.updated_at"}} END AS reported_at,
  d.tenant AS tenant, d.state AS state
FROM posthouse_deliveries d JOIN posthouse_messages m ON m.id = {{message "d.id"}} LEFT JOIN posthouse_events e ON e.delivery = d.id AND e.version = d.version
WHERE m.kind = 'sms'
