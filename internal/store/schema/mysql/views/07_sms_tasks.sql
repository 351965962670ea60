SELECT d.id AS id, CASE WHEN m.dedup_key = CONCAT('lksms:', m.ref) THEN CONVERT(m.ref USING utf8mb4) COLLATE utf8mb4_bin ELSE CONVERT(d.id USING utf8mb4) COLLATE utf8mb4_bin END AS task_id, CASE WHEN d.address LIKE '+86%' THEN substr(d.address, 4) ELSE d.address END AS phone_number, JSON_UNQUOTE(JSON_EXTRACT(NULLIF(m.content, ''), '$.text')) AS content,
  CASE WHEN d.state = 'pending' THEN 0 WHEN d.state IN ('sending', 'unknown') THEN 1 WHEN d.state IN ('sent', 'delivered') THEN 2 ELSE 3 END AS status,
  NULLIF(m.source, '') AS source, CASE WHEN (d.state IN ('failed', 'unknown') OR (e.type = 'evidence' AND e.from_state = 'failed')) AND d.tries > 0 THEN d.tries - 1 ELSE d.tries END AS retry_count,
  CASE WHEN d.state = 'sending' THEN NULLIF(substr(d.lease_owner, 7), '') WHEN d.state IN ('sent', 'delivered') OR (d.state = 'failed' AND d.reason = 'no_retry') THEN
    (SELECT substr(o.owner, 7) FROM posthouse_transitions o WHERE o.delivery = d.id AND o.owner LIKE 'agent/%' ORDER BY o.version DESC LIMIT 1) END AS processing_app_id,
  CASE WHEN d.state IN ('sent', 'delivered') THEN '发送成功' WHEN e.type = 'hold_timeout' THEN '处理超时，超过最大重试次数' WHEN e.type = 'resend' THEN '处理超时，自动重试'
    ELSE NULLIF(substr(CONCAT(CASE WHEN d.state = 'failed' AND d.reason = 'tries_used_up' THEN '超过最大重试次数: ' ELSE '' END, d.last_error), 1, 500), '') END AS result,
  TIMESTAMPADD(MICROSECOND, d.created_at, TIMESTAMP '1970-01-01 00:00:00') AS created_at, TIMESTAMPADD(MICROSECOND, d.updated_at, TIMESTAMP '1970-01-01 00:00:00') AS updated_at,
  CASE WHEN d.state IN ('sent', 'delivered') THEN TIMESTAMPADD(MICROSECOND, d.updated_at, TIMESTAMP '1970-01-01 00:00:00') END AS sent_at,
  CASE WHEN d.state NOT IN ('pending', 'sending', 'unknown', 'quarantined') THEN TIMESTAMPADD(MICROSECOND, d.updated_at, TIMESTAMP '1970-01-01 00:00:00') END AS reported_at,
  d.tenant AS tenant, d.state AS state
FROM posthouse_deliveries d JOIN posthouse_messages m ON m.id = CONCAT(substr(d.id, 1, 22), '0000') LEFT JOIN posthouse_events e ON e.delivery = d.id AND e.version = d.version
WHERE m.kind = 'sms'
