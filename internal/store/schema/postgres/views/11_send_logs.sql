SELECT l.delivery || ':' || l.token::text AS id, CASE WHEN m.dedup_key = 'lksms:' || m.ref THEN m.ref ELSE d.id END AS task_id, l.agent AS app_id, CASE WHEN d.address LIKE '+86%' THEN substr(d.address, 4) ELSE d.address END AS phone_number, (NULLIF(m.content, '')::json ->> 'text') AS content,
  NULLIF(l.request, '') AS request_data, NULL AS response_data, to_timestamp(l.at / 1000000.0) AS created_at, l.tenant AS tenant
FROM posthouse_send_log l JOIN posthouse_deliveries d ON d.id = l.delivery JOIN posthouse_messages m ON m.id = substr(d.id, 1, 22) || '0000'
