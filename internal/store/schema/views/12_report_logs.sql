SELECT l.id AS id, {{task}} AS task_id, l.agent AS app_id, CASE WHEN l.outcome IN ('sent', 'delivered') THEN 2 ELSE 3 END AS status,
  NULLIF(substr(l.error, 1, 500), '') AS error_message, {{document "NULLIF(l.request, '')"}} AS request_data, {{time "l.at"}} AS created_at,
  l.outcome AS outcome, l.answer AS answer, l.tenant AS tenant
FROM posthouse_report_log l JOIN posthouse_deliveries d ON d.id = l.delivery JOIN posthouse_messages m ON m.id = {{message "d.id"}}
