SELECT l.id AS id, CASE WHEN m.dedup_key = CONCAT('lksms:', m.ref) THEN CONVERT(m.ref USING utf8mb4) COLLATE utf8mb4_bin ELSE CONVERT(d.id USING utf8mb4) COLLATE utf8mb4_bin END AS task_id, l.agent AS app_id, CASE WHEN l.outcome IN ('sent', 'delivered') THEN 2 ELSE 3 END AS status,
  NULLIF(substr(l.error, 1, 500), '') AS error_message, NULLIF(l.request, '') AS request_data, TIMESTAMPADD(MICROSECOND, l.at, TIMESTAMP '1970-01-01 00:00:00') AS created_at,
  l.outcome AS outcome, l.answer AS answer, l.tenant AS tenant
FROM posthouse_report_log l JOIN posthouse_deliveries d ON d.id = l.delivery JOIN posthouse_messages m ON m.id = CONCAT(substr(d.id, 1, 22), '0000')
