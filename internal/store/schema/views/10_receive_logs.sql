SELECT id, NULLIF(request_id, '') AS request_id, {{phone "phone"}} AS phone_number, NULLIF(content, '') AS content, (templated <> 0) AS use_template,
  source_ip, user_agent, {{document "NULLIF(request, '')"}} AS request_data, {{document "NULLIF(response, '')"}} AS response_data, status AS status_code,
  {{time "at"}} AS created_at, NULLIF(delivery, '') AS delivery, tenant
FROM posthouse_receive_log
