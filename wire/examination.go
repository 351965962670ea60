package wire

import "time"

// SettingSource is where a setting of the server was given.
type SettingSource string

// The sources, highest first.
const (
	SettingByFlag     SettingSource = "flag"
	SettingByVariable SettingSource = "environment"
	SettingByEnvFile  SettingSource = "env_file"
	SettingByFile     SettingSource = "file"
	SettingByDefault  SettingSource = "default"
)

// SettingSources lists every source.
func SettingSources() []SettingSource {
	return []SettingSource{SettingByFlag, SettingByVariable, SettingByEnvFile, SettingByFile, SettingByDefault}
}

// ServerSetting is a setting of the process that answered, as it is in force.
type ServerSetting struct {
	Name   string        `json:"name" doc:"As a file of settings has it, such as max_body; the variable is POSTHOUSE_MAX_BODY, the flag --max-body."`
	Value  string        `json:"value" doc:"What holds. A secret is ********; empty where nothing is given and nothing is the default."`
	Source SettingSource `json:"source" doc:"Where it was given: flag, environment, env_file, file or default."`
	At     string        `json:"at,omitempty" doc:"The place: the flag, the variable, or file and line. Empty for a default."`
	Help   string        `json:"help,omitempty" doc:"What it does, as the help of the command says it."`
	Secret bool          `json:"secret,omitempty" doc:"Whether the value is kept from everybody."`
}

// Finding is one thing that an examination looked at, as posthouse doctor does.
type Finding struct {
	Check  string `json:"check" doc:"What was looked at, such as schema, clock or channel NAME."`
	OK     bool   `json:"ok" doc:"Whether it is safe and works."`
	Detail string `json:"detail" doc:"What was found, and what to do where it is not well."`
}

// Examination is what the process that answered found unsafe or broken when it looked last.
type Examination struct {
	Known    bool      `json:"known" doc:"Whether this program can look: one that embeds the server may not."`
	At       time.Time `json:"at,omitzero" doc:"When it looked; absent where it did not since its start."`
	Healthy  bool      `json:"healthy" doc:"Whether nothing was unsafe or broken."`
	Findings []Finding `json:"findings" doc:"Each thing that was looked at."`
}
