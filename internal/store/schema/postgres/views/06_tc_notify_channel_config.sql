-- config_json has only what the document asks of DingTalk's gateway. Everything else in a configuration may be, or
-- may hold, a secret.
SELECT h.name AS id, CASE h.name WHEN 'oa' THEN 0 WHEN 'dingtalk' THEN 1 END AS channel,
  CASE WHEN h.driver = 'dingtalk' THEN jsonb_build_object('baseUrl', h.config::json ->> 'baseUrl', 'agentId', h.config::json ->> 'agentId', 'corpId', h.config::json ->> 'corpId') ELSE '{}'::jsonb END AS config_json,
  1 - h.paused AS enabled, 0 AS del_flag, NULL AS create_by, to_timestamp(h.created_at / 1000000.0) AS create_time,
  NULL AS update_by, to_timestamp(h.updated_at / 1000000.0) AS update_time, h.tenant AS tenant
FROM posthouse_channels h WHERE h.name IN ('oa', 'dingtalk')
