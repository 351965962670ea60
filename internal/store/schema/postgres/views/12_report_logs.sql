SELECT l.id AS id, CASE WHEN m.dedup_key = 'lksms:' || m.ref THEN m.ref ELSE d.id END AS task_id, l.agent AS app_id, CASE WHEN l.outcome IN ('sent', 'delivered') THEN 2 ELSE 3 END AS status,
  NULLIF(substr(l.error, 1, 500), '') AS error_message, NULLIF(l.request, '')::jsonb AS request_data, to_timestamp(l.at / 1000000.0) AS created_at,
  l.outcome AS outcome, l.answer AS answer, l.tenant AS tenant
FROM posthouse_report_log l JOIN posthouse_deliveries d ON d.id = l.delivery JOIN posthouse_messages m ON m.id = substr(d.id, 1, 22) || '0000'
