SELECT h.id AS id, h.task_id AS task_id, h.app_id AS app_id, h.phone_number AS phone_number, h.content AS content, h.request_data AS request_data,
  jsonb_build_object('task_id', h.task_id, 'phone_number', h.phone_number, 'content', h.content) AS response_data, h.created_at AS created_at, h.tenant AS tenant
FROM (
  SELECT l.delivery || ':' || l.token::text AS id, CASE WHEN m.dedup_key = 'lksms:' || m.ref THEN m.ref ELSE d.id END AS task_id, l.agent AS app_id, CASE WHEN d.address LIKE '+86%' THEN substr(d.address, 4) ELSE d.address END AS phone_number, (NULLIF(m.content, '')::json ->> 'text') AS content,
    NULLIF(l.request, '')::jsonb AS request_data, to_timestamp(l.at / 1000000.0) AS created_at, l.tenant AS tenant
  FROM posthouse_send_log l JOIN posthouse_deliveries d ON d.id = l.delivery JOIN posthouse_messages m ON m.id = substr(d.id, 1, 22) || '0000'
) h
