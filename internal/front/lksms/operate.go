package lksms

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/posthouse/posthouse/internal/sms"
)

// operator looks after the whole of it.
type operator struct{ *door }

// counted are the numbers of tasks by what they are about to do.
type counted struct {
	PendingNew   int `json:"pending_new_tasks"`
	PendingRetry int `json:"pending_retry_tasks"`
	Processing   int `json:"processing_tasks"`
	Success      int `json:"success_tasks"`
	Failed       int `json:"failed_tasks"`
}

func (d operator) statistics(c *call) (answer, error) {
	t, err := d.Store.Tally(c.Context(), c.who.tenant, d.Channel)
	return answer{data: counted{t.New, t.Retry, t.Processing + t.Unknown, t.Success, t.Failed}}, err
}

// meaning is a status with its names.
type meaning struct {
	Status      int    `json:"status_code"`
	Name        string `json:"status_name"`
	Description string `json:"description"`
}

func (d operator) statusInfo(*call) (answer, error) {
	return ok([]meaning{{0, "PENDING", "待处理"}, {1, "PROCESSING", "处理中"}, {2, "SUCCESS", "成功"}, {3, "FAILED", "失败"}})
}

// rules are how tasks come from one status to another.
type rules struct {
	MaxRetries      int     `json:"max_retry_count"`
	RetryDelay      float64 `json:"retry_delay_seconds"`
	ZombieAfter     float64 `json:"processing_timeout_seconds"`
	FairAfter       float64 `json:"fair_after_seconds"`
	Format          Format  `json:"pending_format"`
	TimeZone        string  `json:"time_zone"`
	MaxContent      int     `json:"max_content_length"`
	MaxTasksAtOnce  int     `json:"max_pending_limit"`
	SensitiveAlways bool    `json:"sensitive"`
}

func (d operator) rules(c *call) (answer, error) {
	r, err := d.Rules(c.Context(), c.who.tenant)
	return answer{data: rules{
		MaxRetries: r.MaxRetries, RetryDelay: r.RetryDelay.Seconds(), ZombieAfter: r.Timeout.Seconds(), FairAfter: r.FairAfter.Seconds(), Format: d.Format, TimeZone: d.TimeZone.String(),
		MaxContent: sms.MaxCharacters, MaxTasksAtOnce: maxTasks, SensitiveAlways: d.Sensitive,
	}}, err
}

// recovered is how many lost tasks were found.
type recovered struct {
	Count   int    `json:"recovered_count"`
	Message string `json:"message"`
}

func (d operator) recoverZombies(c *call) (answer, error) {
	n, err := d.Engine.RescueNow(c.Context())
	c.change = change{affected: n}
	return answer{data: recovered{n, fmt.Sprintf("成功恢复 %d 个僵尸任务", n)}}, err
}

// alive says that the server works.
type alive struct {
	Status string `json:"status"`
}

func (d operator) health(c *call) (answer, error) {
	ctx, cancel := context.WithTimeout(c.Context(), 5*time.Second)
	defer cancel()
	if d.Store.Ping(ctx) != nil {
		return answer{}, refuse(http.StatusServiceUnavailable, "the database does not answer")
	}
	return ok(alive{"healthy"})
}
