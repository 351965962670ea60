// Package huawei pushes notifications to devices of HarmonyOS and Android by Huawei's Push Kit, version 3, which a service account signs
// for: developer.huawei.com, "Push Kit, REST API, messages:send (v3)". For version 1 of the API there is the preset huawei_v1.
package huawei
