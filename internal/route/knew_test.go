package route

import (
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/catalog"
)

func TestWhetherAPersonKnewIsOneSentence(t *testing.T) {
	t.Parallel()
	at := func(minute int) time.Time { return time.Date(2030, 1, 1, 3, minute, 0, 0, time.UTC) }
	clock := func(t time.Time) string { return t.Format("15:04") }
	to := []posthouse.Recipient{{User: "zhang.san"}}
	sent := []posthouse.NotificationDelivery{{ID: "d1", Channel: "chat", User: "zhang.san", State: posthouse.Sent, At: at(1)}}
	ack := func(by string, minute int) *posthouse.Acknowledgement {
		return &posthouse.Acknowledgement{By: by, Via: posthouse.AckLink, At: at(minute)}
	}
	for _, c := range []struct {
		n           posthouse.Notification
		want, wants string
	}{
		{posthouse.Notification{Ack: ack("zhang.san", 7)}, "zhang.san knew at 03:07: acknowledged by the link", "zhang.san 于 03:07 知晓：已确认（点击确认链接）"},
		{posthouse.Notification{Ack: ack("zhang.san", 12)}, "zhang.san did not know by 03:10: acknowledged by the link at 03:12, which is later", "zhang.san 到 03:10 尚不知晓：03:12 才确认（点击确认链接）"},
		{posthouse.Notification{Ack: ack("li.na", 5)}, "zhang.san did not know by 03:10: taken note of by li.na at 03:05", "zhang.san 到 03:10 尚不知晓：由 li.na 于 03:05 确认"},
		{posthouse.Notification{Ack: ack("li.na", 15)}, "zhang.san did not know by 03:10: taken note of by li.na at 03:15, which is later", "zhang.san 到 03:10 尚不知晓：li.na 于 03:15 才确认"},
		{posthouse.Notification{Deliveries: sent, ToldBy: "d1", ToldUser: "zhang.san", ToldAt: at(1)}, "zhang.san was told at 03:01 by chat, and had not acknowledged it by 03:10", "zhang.san 于 03:01 经 chat 通知到，到 03:10 尚未确认"},
		{posthouse.Notification{Deliveries: sent, ToldBy: "d1", ToldUser: "zhang.san", ToldAt: at(1), Ack: ack("li.na", 5)}, "zhang.san was told at 03:01 by chat, and li.na acknowledged it at 03:05", "zhang.san 于 03:01 经 chat 通知到，li.na 于 03:05 确认"},
		{posthouse.Notification{ToldBy: "d1", ToldUser: "zhang.san", ToldAt: at(11)}, "zhang.san did not know by 03:10: told at 03:11, which is later", "zhang.san 到 03:10 尚不知晓：03:11 才通知到"},
		{posthouse.Notification{State: posthouse.NotificationNotTold, Reason: ReasonEscalated, Deliveries: sent, ToldBy: "d2", ToldUser: "li.na", ToldAt: at(5)}, "zhang.san did not know by 03:10: li.na was told at 03:05", "zhang.san 到 03:10 尚不知晓：li.na 于 03:05 通知到"},
		{posthouse.Notification{State: posthouse.NotificationWaiting, Deliveries: sent, NextAt: at(20)}, "zhang.san did not know by 03:10: its message by chat was sent at 03:01", "zhang.san 到 03:10 尚不知晓：经 chat 的消息于 03:01 为已发送"},
		{posthouse.Notification{State: posthouse.NotificationWaiting, NextAt: at(20)}, "zhang.san did not know by 03:10: the next step begins at 03:20", "zhang.san 到 03:10 尚不知晓：下一步开始于 03:20"},
		{posthouse.Notification{State: posthouse.NotificationNotTold, Reason: ReasonNobody}, "zhang.san did not know by 03:10: the reason is nobody", ""},
		{posthouse.Notification{State: posthouse.NotificationWaiting}, "zhang.san did not know by 03:10: nothing has been sent yet", "zhang.san 到 03:10 尚不知晓：还没有发送"},
	} {
		c.n.To = to
		got := Knew(&c.n, "zhang.san", at(10), clock)
		if got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
		if said, known := catalog.Chinese(got); !known || c.wants != "" && said != c.wants {
			t.Errorf("%q in Chinese: %q, want %q", got, said, c.wants)
		}
	}
}
