SELECT s.phone AS id, CASE WHEN s.phone LIKE '+86%' THEN substr(s.phone, 4) ELSE s.phone END AS phone_number, s.body AS content, (s.templated <> 0) AS use_template,
  (s.sent <> 0 OR EXISTS (SELECT 1 FROM posthouse_channels c JOIN posthouse_dedup k ON k.tenant = c.tenant AND k.channel = c.name
    WHERE c.tenant = s.tenant AND c.driver = 'pull' AND k.dedup_key = 'default_sms:' || s.phone || ':' || s.generation::text)) AS is_sent,
  to_timestamp(s.created_at / 1000000.0) AS created_at, to_timestamp(s.updated_at / 1000000.0) AS updated_at, s.tenant AS tenant
FROM posthouse_default_sms s
