SELECT s.phone AS id, CASE WHEN s.phone LIKE '+86%' THEN substr(s.phone, 4) ELSE s.phone END AS phone_number, s.body AS content, (s.templated <> 0) AS use_template,
  (s.sent <> 0 OR EXISTS (SELECT 1 FROM posthouse_channels c JOIN posthouse_dedup k ON k.tenant = c.tenant AND k.channel = c.name
    WHERE c.tenant = s.tenant AND c.driver = 'pull' AND k.dedup_key = CONCAT('default_sms:', s.phone, ':', s.generation))) AS is_sent,
  TIMESTAMPADD(MICROSECOND, s.created_at, TIMESTAMP '1970-01-01 00:00:00') AS created_at, TIMESTAMPADD(MICROSECOND, s.updated_at, TIMESTAMP '1970-01-01 00:00:00') AS updated_at, s.tenant AS tenant
FROM posthouse_default_sms s
