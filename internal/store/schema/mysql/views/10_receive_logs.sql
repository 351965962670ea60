SELECT id, NULLIF(request_id, '') AS request_id, CASE WHEN phone LIKE '+86%' THEN substr(phone, 4) ELSE phone END AS phone_number, NULLIF(content, '') AS content, (templated <> 0) AS use_template,
  source_ip, user_agent, NULLIF(request, '') AS request_data, NULLIF(response, '') AS response_data, status AS status_code,
  TIMESTAMPADD(MICROSECOND, at, TIMESTAMP '1970-01-01 00:00:00') AS created_at, NULLIF(delivery, '') AS delivery, tenant
FROM posthouse_receive_log
