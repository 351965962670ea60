-- config_json has only what the document asks of DingTalk's gateway. Everything else in a configuration may be, or
-- may hold, a secret.
SELECT h.name AS id, CASE h.name WHEN 'oa' THEN 0 WHEN 'dingtalk' THEN 1 END AS channel,
  CASE WHEN h.driver = 'dingtalk' THEN JSON_OBJECT('baseUrl', JSON_UNQUOTE(JSON_EXTRACT(h.config, '$.baseUrl')), 'agentId', JSON_UNQUOTE(JSON_EXTRACT(h.config, '$.agentId')), 'corpId', JSON_UNQUOTE(JSON_EXTRACT(h.config, '$.corpId'))) ELSE '{}' END AS config_json,
  1 - h.paused AS enabled, 0 AS del_flag, NULL AS create_by, TIMESTAMPADD(MICROSECOND, h.created_at, TIMESTAMP '1970-01-01 00:00:00') AS create_time,
  NULL AS update_by, TIMESTAMPADD(MICROSECOND, h.updated_at, TIMESTAMP '1970-01-01 00:00:00') AS update_time, h.tenant AS tenant
FROM posthouse_channels h WHERE h.name IN ('oa', 'dingtalk')
