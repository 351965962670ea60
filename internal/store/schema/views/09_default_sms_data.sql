SELECT s.phone AS id, {{phone "s.phone"}} AS phone_number, s.body AS content, (s.templated <> 0) AS use_template,
  (s.sent <> 0 OR EXISTS (SELECT 1 FROM posthouse_channels c JOIN posthouse_dedup k ON k.tenant = c.tenant AND k.channel = c.name
    WHERE c.tenant = s.tenant AND c.driver = 'pull' AND k.dedup_key = {{cat "'default_sms:'" "s.phone" "':'" "s.generation"}})) AS is_sent,
  {{time "s.created_at"}} AS created_at, {{time "s.updated_at"}} AS updated_at, s.tenant AS tenant
FROM posthouse_default_sms s
