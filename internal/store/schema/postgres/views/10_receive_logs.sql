SELECT id, NULLIF(request_id, '') AS request_id, CASE WHEN phone LIKE '+86%' THEN substr(phone, 4) ELSE phone END AS phone_number, NULLIF(content, '') AS content, (templated <> 0) AS use_template,
  source_ip, user_agent, NULLIF(request, '')::jsonb AS request_data, NULLIF(response, '')::jsonb AS response_data, status AS status_code,
  to_timestamp(at / 1000000.0) AS created_at, NULLIF(delivery, '') AS delivery, tenant
FROM posthouse_receive_log
