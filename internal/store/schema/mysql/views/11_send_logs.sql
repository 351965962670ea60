SELECT h.id AS id, h.task_id AS task_id, h.app_id AS app_id, h.phone_number AS phone_number, h.content AS content, h.request_data AS request_data,
  JSON_OBJECT('task_id', h.task_id, 'phone_number', h.phone_number, 'content', h.content) AS response_data, h.created_at AS created_at, h.tenant AS tenant
FROM (
  SELECT CONCAT(l.delivery, ':', l.token) AS id, CASE WHEN m.dedup_key = CONCAT('lksms:', m.ref) THEN CONVERT(m.ref USING utf8mb4) COLLATE utf8mb4_bin ELSE CONVERT(d.id USING utf8mb4) COLLATE utf8mb4_bin END AS task_id, l.agent AS app_id, CASE WHEN d.address LIKE '+86%' THEN substr(d.address, 4) ELSE d.address END AS phone_number, JSON_UNQUOTE(JSON_EXTRACT(NULLIF(m.content, ''), '$.text')) AS content,
    NULLIF(l.request, '') AS request_data, TIMESTAMPADD(MICROSECOND, l.at, TIMESTAMP '1970-01-01 00:00:00') AS created_at, l.tenant AS tenant
  FROM posthouse_send_log l JOIN posthouse_deliveries d ON d.id = l.delivery JOIN posthouse_messages m ON m.id = CONCAT(substr(d.id, 1, 22), '0000')
) h
