package server_test

import (
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
)

// A template by which an open reminder sends is not deleted: its next moment would send nothing. Once the reminder has ended, it is.
func TestATemplateOfAnOpenReminderIsNotDeleted(t *testing.T) {
	ways(t, func(h *house, _ *scripted) {
		_, err := h.api.Templates.Put(h.Context(), posthouse.Template{Name: "standup", Text: "stand up"})
		h.must(err)
		_, err = h.api.Reminders.Put(h.Context(), "daily", posthouse.Reminder{
			Draft:  posthouse.Draft{Channel: "a", To: []posthouse.Recipient{{User: "u1", Address: "u1"}}, Template: "standup"},
			Repeat: &posthouse.Repeat{From: time.Now().Add(time.Hour), Every: posthouse.Duration(24 * time.Hour)},
		})
		h.must(err)
		if err := h.api.Templates.Delete(h.Context(), "standup"); posthouse.CodeOf(err) != posthouse.CodeConflict || !strings.Contains(err.Error(), "the reminder daily") {
			h.Errorf("the template of an open reminder is deleted: %v", err)
		}
		_, err = h.api.Reminders.End(h.Context(), "daily")
		h.must(err)
		h.must(h.api.Templates.Delete(h.Context(), "standup"))
	})
}
