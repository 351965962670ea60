SELECT d.id AS id, d.user_id AS user_id, d.channel AS platform, {{json "m.content" "text"}} AS content,
  CASE WHEN d.state = 'pending' AND d.tries > 0 THEN 'failure'
       WHEN d.state IN ('pending', 'sending') THEN 'pending'
       WHEN d.state = 'unknown' THEN 'failure'
       WHEN d.state IN ('sent', 'delivered') THEN 'success'
       WHEN d.state = 'failed' THEN 'stopped'
       ELSE d.state END AS status,
  d.tries AS retry_count, {{time "d.created_at"}} AS create_time, {{time "d.updated_at"}} AS update_time,
  d.last_error AS last_error, d.tenant AS tenant
FROM posthouse_deliveries d JOIN posthouse_messages m ON m.id = {{message "d.id"}}
WHERE m.kind = 'notice' AND d.state <> 'suppressed'
