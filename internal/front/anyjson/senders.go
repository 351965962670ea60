package anyjson

import (
	"maps"

	"github.com/posthouse/posthouse/internal/expression"
)

// sender is one whose bodies are known: by what they are recognised, and what makes a message of them. What a front's own expressions
// make goes before.
type sender struct {
	name        string
	recognised  string // an expression that is true of its bodies
	expressions map[string]string
}

// senders are those that are known, in the order in which they are asked. The fields are those of the senders' own pages: GitLab's webhook
// events, the Notification plugin of Jenkins, the macros that Icinga's and Zabbix's examples post, Apprise's json:// in its version 1.0.
func senders() []sender {
	return []sender{{
		name: "GitLab: a pipeline", recognised: `object_kind == "pipeline"`,
		expressions: map[string]string{
			when:     `object_attributes.status in ["success", "failed", "canceled"]`,
			title:    `project.path_with_namespace + " pipeline #" + string(object_attributes.id) + " " + object_attributes.status`,
			text:     `object_attributes.ref + ": " + (commit?.title ?? "") + " (" + (commit?.author?.name ?? "") + ")\n" + (object_attributes?.url ?? project.web_url)`,
			severity: `object_attributes.status`,
			key:      `"pipeline/" + string(object_attributes.id) + "/" + object_attributes.status`,
		},
	}, {
		name: "GitLab: a push", recognised: `object_kind == "push" || object_kind == "tag_push"`,
		expressions: map[string]string{
			title:    `project.path_with_namespace + " " + trimPrefix(trimPrefix(ref, "refs/heads/"), "refs/tags/")`,
			text:     `user_name + ": " + string(total_commits_count) + " commits\n" + project.web_url`,
			severity: `"info"`,
			key:      `"push/" + (checkout_sha ?? after)`,
		},
	}, {
		name: "GitLab: an issue or a merge request", recognised: `object_kind != nil && object_attributes?.url != nil`,
		expressions: map[string]string{
			title:    `project.path_with_namespace + ": " + (object_attributes?.title ?? object_kind)`,
			text:     `(user?.name ?? "") + " " + (object_attributes?.action ?? object_kind) + "\n" + object_attributes.url`,
			severity: `"info"`,
		},
	}, {
		name: "Jenkins, by its Notification plugin", recognised: `build?.phase != nil`,
		expressions: map[string]string{
			when:     `build.phase == "FINALIZED" || build.phase == "FINISHED"`,
			title:    `name + " #" + string(build.number) + " " + (build?.status ?? build.phase)`,
			text:     `build?.full_url ?? build?.url ?? url`,
			severity: `build?.status ?? ""`,
			key:      `name + "/" + string(build.number) + "/" + (build?.status ?? "")`, // it tells of a build twice at its end
		},
	}, {
		name: "Icinga", recognised: `notification_type != nil || (host_name ?? host?.name) != nil && (service_state ?? host_state ?? service?.state) != nil`,
		expressions: map[string]string{
			title:    `(notification_type ?? "") + " " + (host_display_name ?? host_name ?? host?.name ?? "") + " " + (service_display_name ?? service_name ?? service?.name ?? "") + " " + (service_state ?? host_state ?? service?.state ?? "")`,
			text:     `service_output ?? host_output ?? output ?? comment ?? ""`,
			severity: `service_state ?? host_state ?? service?.state ?? ""`,
		},
	}, {
		name: "Zabbix", recognised: `event_id != nil && (trigger_name ?? event_name ?? subject) != nil`,
		expressions: map[string]string{
			title:    `subject ?? ((event_value == "0" ? "Resolved: " : "") + (trigger_name ?? event_name) + " (" + (host_name ?? host ?? "") + ")")`,
			text:     `message ?? ((host_name ?? host ?? "") + ": " + (trigger_name ?? event_name))`,
			severity: `event_value == "0" ? "ok" : event_severity ?? trigger_severity ?? severity ?? ""`,
			key:      `string(event_id) + "/" + string(event_value ?? event_status ?? "")`,
		},
	}, {
		name: "Apprise json://", recognised: `version == "1.0" && message != nil && type != nil`,
		expressions: map[string]string{title: `title ?? ""`, text: `message`, severity: `type`},
	}}
}

// fitting are the expressions of the sender whose body it is, none of one that is not known. What they cannot make, those that fit most do.
func fitting(body map[string]any) map[string]string {
	for _, s := range senders() {
		program, err := compile(s.recognised)
		if err != nil {
			continue // a test compiles all of them
		}
		if v, err := expression.Run(program, maps.Clone(body)); err == nil && v == true {
			return s.expressions
		}
	}
	return nil
}
