package wire

import "github.com/posthouse/posthouse"

// Preset is what is known of a provider, for a channel to be made of.
type Preset struct {
	Name         string        `json:"name" doc:"What a channel names it by."`
	Version      int           `json:"version" doc:"It is higher with each change."`
	Group        PresetGroup   `json:"group" doc:"What the provider is for: chat, push, sms or alert."`
	Title        string        `json:"title" doc:"The provider, in English."`
	TitleZH      string        `json:"title_zh" doc:"The provider, in Chinese."`
	Doc          string        `json:"doc" doc:"What is sent, in English."`
	DocZH        string        `json:"doc_zh" doc:"What is sent, in Chinese."`
	Own          bool          `json:"own,omitempty" doc:"The installation added it."`
	Links        []string      `json:"links,omitempty" doc:"The provider's own pages."`
	Fields       []PresetField `json:"fields" doc:"What to give as the config of a channel that names the preset and no driver."`
	Limits       []PresetLimit `json:"limits,omitempty" doc:"As the provider states them. A channel that names none of its own begins with them."`
	Receipts     bool          `json:"receipts,omitempty" doc:"The provider can tell later what became of a message."`
	Batch        int           `json:"batch" doc:"How many recipients go in one call."`
	Window       string        `json:"idempotency_window,omitempty" doc:"How long the provider recognises a repeated call. Empty for never."`
	Codes        int           `json:"codes" doc:"How many codes it knows the meaning of."`
	Notes        []string      `json:"notes,omitempty" doc:"What to know before it is used, in English."`
	NotesZH      []string      `json:"notes_zh,omitempty" doc:"What to know before it is used, in Chinese."`
	Unverified   []string      `json:"unverified,omitempty" doc:"What is not certain, and can be changed in the channel."`
	UnverifiedZH []string      `json:"unverified_zh,omitempty" doc:"The same in Chinese."`
	Evidence     Evidence      `json:"evidence" doc:"How its recorded requests and answers came to be known."`
	Text         string        `json:"text,omitempty" doc:"The preset as it is written, where one is asked for."`
	Shapes       string        `json:"shapes,omitempty" doc:"Its recorded requests and answers as they are written, where one is asked for."`
}

// PresetGroup says what a provider is for.
type PresetGroup string

// PresetField is one thing to ask the user of a preset.
type PresetField struct {
	Name     string          `json:"name" doc:"Its name in the config."`
	Kind     PresetFieldKind `json:"kind" doc:"text, url (the beginning of a URL), or hook (a whole URL that is secret behind its host)."`
	Label    string          `json:"label" doc:"What it is, in English."`
	LabelZH  string          `json:"label_zh" doc:"What it is, in Chinese."`
	Help     string          `json:"help,omitempty" doc:"Where it is found, in English."`
	HelpZH   string          `json:"help_zh,omitempty" doc:"Where it is found, in Chinese."`
	Secret   bool            `json:"secret" doc:"Encrypted at rest and never shown."`
	Required bool            `json:"required" doc:"It has no default."`
	Default  string          `json:"default,omitempty" doc:"What holds where it is not given."`
	Example  string          `json:"example,omitempty" doc:"What such a value looks like. It is nobody's."`
}

// PresetFieldKind says what a field holds: text, url or hook, which is a whole URL that is secret behind its host.
type PresetFieldKind string

// PresetLimit is a limit as the provider states it.
type PresetLimit struct {
	posthouse.Limit
	Of         string `json:"of" doc:"Whose sends it counts: channel or recipient."`
	Source     string `json:"source" doc:"Who states it."`
	Date       string `json:"date" doc:"When they did."`
	Unverified bool   `json:"unverified,omitempty" doc:"It is not the provider who states it."`
}

// Evidence counts recorded requests and answers by how they came to be known.
type Evidence struct {
	Documented int `json:"documented" doc:"On the provider's own pages."`
	SDK        int `json:"sdk" doc:"In the provider's SDK or its own server's source, or captured from them."`
	Unverified int `json:"unverified" doc:"By others, or by what is usual."`
}

// PresetFile is a preset that an installation adds.
type PresetFile struct {
	Text   string `json:"text" doc:"The preset, as YAML."`
	Shapes string `json:"shapes" doc:"Recorded requests and answers, as YAML. The preset must do what they say."`
}

// PresetState says how a channel stands to the preset that it was made of.
type PresetState struct {
	Preset  string         `json:"preset,omitempty" doc:"Empty where the channel was made of none."`
	Version int            `json:"version,omitempty" doc:"Of which the channel was made."`
	Latest  int            `json:"latest,omitempty" doc:"Which there is now; 0 where the preset was deleted."`
	Changes []PresetChange `json:"changes" doc:"What would change if it were made of it anew. Nothing changes by itself."`
}

// PresetChange is a setting that a preset sees otherwise than a channel has it.
type PresetChange struct {
	Field string `json:"field" doc:"The setting, such as codes.403."`
	Was   string `json:"was,omitempty" doc:"What the channel has; empty for nothing."`
	Is    string `json:"is,omitempty" doc:"What the preset has; empty for nothing."`
}
