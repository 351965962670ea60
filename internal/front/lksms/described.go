package lksms

import (
	"net/http"
	"reflect"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/web"
)

// The bodies as the document of the API shows them. They are read more loosely than that, see body.go.

type sendForm struct {
	Phone       string `json:"phone_number" doc:"A mobile number, of the mainland or with +." example:"13800138000" minLength:"1"`
	Content     string `json:"content,omitempty" doc:"The text; with use_template the template's values, such as code=123456. Defaults to the number's default content." example:"您的验证码是123456"`
	UseTemplate bool   `json:"use_template,omitempty" doc:"Fills the active template with the lowest number." example:"false"`
	Source      string `json:"source,omitempty" doc:"Which system sends it." example:"crm"`
	Sensitive   bool   `json:"sensitive,omitempty" doc:"Keeps the text sealed, shows it to the phone alone, and deletes it after a day." example:"false"`
}

type reportForm struct {
	Task   string `json:"task_id" doc:"The task." example:"01M7YB1WZMBNVQWRX67H460001" minLength:"1"`
	App    string `json:"app_id" doc:"The app that holds it." example:"phone-1" minLength:"1" maxLength:"64"`
	Status int    `json:"status" doc:"2 sent, 3 failed." enum:"2,3" example:"2"`
	Error  string `json:"error_message,omitempty" doc:"Why it failed; cut to 500 characters." example:"no signal"`
	Retry  bool   `json:"should_retry,omitempty" doc:"Of a failure: try it again later." example:"true"`
}

type templateForm struct {
	Name   string `json:"template_name" doc:"What people call it." example:"验证码" minLength:"1" maxLength:"100"`
	Text   string `json:"template_content" doc:"The text, with {name} for values." example:"您的验证码是{code}" minLength:"1" maxLength:"200"`
	Active bool   `json:"is_active,omitempty" doc:"Whether it may be used. Defaults to true." example:"true"`
}

type activeForm struct {
	Active bool `json:"is_active" doc:"Whether it may be used." example:"true"`
}

type defaultForm struct {
	Phone       string `json:"phone_number" doc:"A mobile number, of the mainland or with +." example:"13800138000" minLength:"1"`
	Content     string `json:"content" doc:"What is sent to it without a content; with use_template the template's values." example:"您的包裹到了" minLength:"1" maxLength:"200"`
	UseTemplate bool   `json:"use_template,omitempty" doc:"Fills the active template with the lowest number." example:"false"`
	Rearm       bool   `json:"rearm,omitempty" doc:"Lets it be sent once more although nothing has changed." example:"false"`
}

// told is how everything is answered.
type told[T any] struct {
	Code    int    `json:"code" doc:"200." example:"200"`
	Message string `json:"message" doc:"success." example:"success"`
	Data    T      `json:"data" doc:"What was asked for."`
}

// done is an answer without data.
type done struct {
	Code    int    `json:"code" doc:"200." example:"200"`
	Message string `json:"message" doc:"success." example:"success"`
}

// fault is the answer to a request that is wrong.
type fault struct {
	Code    int    `json:"code" doc:"The status of HTTP." example:"400"`
	Message string `json:"message" doc:"What is wrong."`
	Detail  string `json:"detail" doc:"The message once more."`
	Data    *bool  `json:"data" doc:"null"`
}

// Described are the addresses for the document of the API. A server serves them where a pair is set.
func Described() []web.Route {
	const (
		get, post, put           = http.MethodGet, http.MethodPost, http.MethodPut
		read, send, agent, admin = posthouse.ScopeRead, posthouse.ScopeSend, posthouse.ScopeAgent, posthouse.ScopeAdmin
	)
	routes := append(web.Tagged("SMS tasks",
		web.Described(post, "/api/v1/sms/send", send, "Hand in a text for a phone.").Takes(sendForm{}).Of(told[sent]{}).Repeatable(),
		web.Described(get, "/api/v1/sms/task/{task_id}", read, "One task.").Of(told[taskView]{}),
		web.Described(get, "/api/v1/sms/tasks/pending", agent, "Be handed tasks that are due.").Of(told[[]handed]{}).Query("app_id", "limit", "format"),
		web.Described(post, "/api/v1/sms/report", agent, "Say what became of a task.").Takes(reportForm{}).Of(done{}),
		web.Described(get, "/health", "", "Whether the database answers.").Of(told[alive]{}).Answers(http.StatusOK),
	), web.Tagged("SMS administration",
		web.Described(post, "/api/v1/admin/template", admin, "Add a template.").Takes(templateForm{}).Of(told[template]{}),
		web.Described(get, "/api/v1/admin/template", admin, "All templates.").Of(told[[]template]{}),
		web.Described(put, "/api/v1/admin/template/{id}", admin, "Switch a template on or off.").Takes(activeForm{}).Of(told[[]template]{}),
		web.Described(post, "/api/v1/admin/default-sms", admin, "Set what a phone is sent without a content.").Takes(defaultForm{}).Of(told[defaultText]{}),
		web.Described(get, "/api/v1/admin/default-sms/{phone_number}", admin, "What a phone is sent without a content.").Of(told[defaultText]{}),
		web.Described(get, "/api/v1/admin/task-statistics", admin, "How many tasks there are in each status.").Of(told[counted]{}),
		web.Described(get, "/api/v1/admin/task-status-info", admin, "What the statuses mean.").Of(told[[]meaning]{}),
		web.Described(get, "/api/v1/admin/rules", admin, "The rules in force.").Of(told[rules]{}),
		web.Described(post, "/api/v1/admin/recover-zombie-tasks", admin, "Look for tasks that timed out now.").Of(told[recovered]{}),
		web.Described(get, "/api/v1/admin/task/{task_id}", admin, "Everything about a task.").Of(told[wholeTask]{}),
		web.Described(get, "/api/v1/admin/logs/{log}", admin, "A log: receive, send or report.").Of(told[pageOfLines]{}).Query("task_id", "app_id", "since", "until", "cursor", "limit"),
	)...)
	for i := range routes {
		routes[i] = routes[i].Basic(fault{})
	}
	return routes
}

// Names are what the document calls the types of this front.
func Names() map[reflect.Type]string {
	return map[reflect.Type]string{
		reflect.TypeFor[sendForm](): "SMSSend", reflect.TypeFor[reportForm](): "SMSReport", reflect.TypeFor[templateForm](): "NewSMSTemplate",
		reflect.TypeFor[activeForm](): "SMSTemplateSwitch", reflect.TypeFor[defaultForm](): "NewDefaultSMS", reflect.TypeFor[done](): "SMSDone", reflect.TypeFor[fault](): "SMSFault",
		reflect.TypeFor[sent](): "SMSSent", reflect.TypeFor[taskView](): "SMSTask", reflect.TypeFor[handed](): "SMSHandout",
		reflect.TypeFor[alive](): "SMSHealth", reflect.TypeFor[template](): "SMSTemplate", reflect.TypeFor[defaultText](): "DefaultSMS", reflect.TypeFor[counted](): "SMSStatistics",
		reflect.TypeFor[meaning](): "SMSStatus", reflect.TypeFor[rules](): "SMSRules", reflect.TypeFor[recovered](): "SMSRecovered",
		reflect.TypeFor[wholeTask](): "SMSStory", reflect.TypeFor[row](): "SMSStoryTask", reflect.TypeFor[pageOfLines](): "SMSLinePage",
		reflect.TypeFor[told[sent]](): "SMSSendAnswer", reflect.TypeFor[told[taskView]](): "SMSTaskAnswer", reflect.TypeFor[told[[]handed]](): "SMSHandoutsAnswer",
		reflect.TypeFor[told[alive]](): "SMSHealthAnswer", reflect.TypeFor[told[template]](): "SMSTemplateAnswer",
		reflect.TypeFor[told[[]template]](): "SMSTemplatesAnswer", reflect.TypeFor[told[defaultText]](): "DefaultSMSAnswer", reflect.TypeFor[told[counted]](): "SMSStatisticsAnswer",
		reflect.TypeFor[told[[]meaning]](): "SMSStatusesAnswer", reflect.TypeFor[told[rules]](): "SMSRulesAnswer", reflect.TypeFor[told[recovered]](): "SMSRecoveredAnswer",
		reflect.TypeFor[told[wholeTask]](): "SMSStoryAnswer", reflect.TypeFor[told[pageOfLines]](): "SMSLinesAnswer",
	}
}
