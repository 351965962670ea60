SELECT h.id AS id, h.task_id AS task_id, h.app_id AS app_id, h.phone_number AS phone_number, h.content AS content, h.request_data AS request_data,
  {{object "task_id" "h.task_id" "phone_number" "h.phone_number" "content" "h.content"}} AS response_data, h.created_at AS created_at, h.tenant AS tenant
FROM (
  SELECT {{cat "l.delivery" "':'" "l.token"}} AS id, {{task}} AS task_id, l.agent AS app_id, {{phone "d.address"}} AS phone_number, {{json "NULLIF(m.content, '')" "text"}} AS content,
    {{document "NULLIF(l.request, '')"}} AS request_data, {{time "l.at"}} AS created_at, l.tenant AS tenant
  FROM posthouse_send_log l JOIN posthouse_deliveries d ON d.id = l.delivery JOIN posthouse_messages m ON m.id = {{message "d.id"}}
) h
