package prove

import (
	"time"

	"github.com/posthouse/posthouse"
)

// scene is a world to explore: who takes part, what providers answer, and how often what may go wrong.
type scene struct {
	name     string
	about    string
	members  int              // of a campaign with one segment, instead of messages
	messages int              // each to one recipient, accepted at the beginning
	accepts  bool             // or by a process, with a seat or without one
	slots    int              // how many deliveries a process has under way at most
	line     bool             // they have one ordering key
	route    posthouse.Route  // that a notification follows, with a message for each step and round; instead of messages
	notices  int              // how many notifications follow it, each with an equal share of the messages; 0 for one
	answers  []answerBy       // what people say once the first message has reached them
	sure     bool             // no call and no answer of the provider is lost
	alone    bool             // there is one process
	digest   posthouse.Digest // that gathers the first messages; the others are made for its collections as they leave
	gathered int              // how many of the messages it gathers
	late     int              // how many of these come while the others are under way
	room     int              // how many of these a provider takes in one text; 0 for any number
	policy   posthouse.Policy
	window   time.Duration // how long the provider knows a key
	wait     time.Duration // before another try
	tries    int
	classes  []posthouse.Class // refusals; that the call succeeds or its answer is lost is in every scene
	deadline time.Duration     // of the messages; 0 for none
	hold     time.Duration     // before an unknown is given up; 0 for never
	every    time.Duration     // one delivery may begin in so long, by the channel's limiter; 0 for no limit
	cap      int               // how many messages a person gets, who is the recipient of all; 0 for any number
	left     budget
}

// The times of all scenes: a lease lasts longer than a call and its margin, and less than any wait.
const (
	timeout = 10 * time.Second
	lease   = 20 * time.Second
	moment  = time.Millisecond
	pause   = 50 * time.Second
	known   = 100 * time.Second
)

// shortScenes are those that every test run explores.
var shortScenes = []scene{{
	name: "hold", about: "one delivery, two processes and the rescuer; an unknown is left to people",
	messages: 1, slots: 1, policy: posthouse.Hold, wait: pause, tries: 2, classes: []posthouse.Class{posthouse.ClassTransient},
	left: budget{crashes: 1, freezes: 1, cancels: 1, resolves: 1},
}, {
	name: "retry", about: "the same; an unknown is sent again, at a provider that knows no keys",
	messages: 1, slots: 1, policy: posthouse.Retry, wait: pause, tries: 3, classes: []posthouse.Class{posthouse.ClassTransient},
	left: budget{crashes: 1, freezes: 1},
}, {
	name: "window", about: "the same, at a provider that knows a key for two waits",
	messages: 1, slots: 1, policy: posthouse.Retry, window: known, wait: pause, tries: 4,
	left: budget{crashes: 1, freezes: 1},
}, {
	name: "deadline", about: "one delivery that is to begin before its second try, and is replayed",
	messages: 1, slots: 1, policy: posthouse.Hold, wait: pause, tries: 3, classes: []posthouse.Class{posthouse.ClassTransient, posthouse.ClassRecipient},
	deadline: pause + timeout, hold: 2 * pause, left: budget{crashes: 1, replays: 1},
}, {
	name: "restore", about: "one delivery, and a person who raises the epoch",
	messages: 1, slots: 1, policy: posthouse.Retry, wait: pause, tries: 2,
	left: budget{crashes: 1, restores: 1, resolves: 1},
}, {
	name: "two", about: "two deliveries of one lane, claimed together",
	messages: 2, slots: 2, policy: posthouse.Hold, wait: pause, tries: 1,
	left: budget{cancels: 1},
}, {
	name: "accept", about: "one delivery that begins as it is accepted, or is due; the epoch may be raised",
	messages: 1, accepts: true, slots: 1, policy: posthouse.Hold, wait: pause, tries: 1, classes: []posthouse.Class{posthouse.ClassTransient},
	left: budget{crashes: 1, freezes: 1, restores: 1, cancels: 1},
}, {
	name: "line", about: "two deliveries with one ordering key",
	messages: 2, slots: 2, line: true, policy: posthouse.Hold, wait: pause, tries: 1,
	left: budget{crashes: 1, resolves: 1},
}, {
	name: "limit", about: "two deliveries of one lane, with a window that lets one through",
	messages: 2, slots: 1, every: pause - lease, policy: posthouse.Hold, wait: pause, tries: 1,
	left: budget{crashes: 1},
}, {
	name: "cap", about: "two messages to a person whom a cap lets get one; an unknown is sent again",
	messages: 2, slots: 1, cap: 1, policy: posthouse.Retry, wait: pause, tries: 2, classes: []posthouse.Class{posthouse.ClassTransient},
	left: budget{crashes: 1},
}, {
	name: "segment", about: "a campaign's segment of two members; an unknown is left to people",
	members: 2, slots: 2, policy: posthouse.Hold, wait: pause, tries: 1,
	left: budget{crashes: 1},
}, {
	name: "owner", about: "a segment of one member, whose owner may stand still",
	members: 1, slots: 1, policy: posthouse.Hold, wait: pause, tries: 1, classes: []posthouse.Class{posthouse.ClassRecipient},
	left: budget{crashes: 1, freezes: 1},
}, {
	name: "route", about: "a route of two steps: the next where the one before failed or is too late; an unknown is left to people",
	messages: 2, slots: 1, policy: posthouse.Hold, wait: pause, tries: 1, classes: []posthouse.Class{posthouse.ClassRecipient},
	route: posthouse.Route{Name: "r", Steps: []posthouse.RouteStep{{Channels: []string{chanel}, Within: posthouse.Duration(pause)}, {Channels: []string{chanel}}}},
	left:  budget{crashes: 1, acks: 1},
}, {
	name: "over", about: "a route of two steps, the first until it is acknowledged; the sender says that it is over, and a person takes note",
	messages: 2, slots: 1, policy: posthouse.Hold, wait: pause, tries: 1, sure: true,
	route: posthouse.Route{Name: "r", Steps: []posthouse.RouteStep{{Channels: []string{chanel}, Until: posthouse.ProofAcknowledged, Within: posthouse.Duration(pause)}, {Channels: []string{chanel}}}},
	left:  budget{acks: 1, overs: 1},
}, {
	name: "restored", about: "a route of two steps, the first until it is acknowledged; the epoch may be raised, and a person lets it go on",
	messages: 2, slots: 1, sure: true, alone: true, policy: posthouse.Hold, wait: pause, tries: 1,
	route: posthouse.Route{Name: "r", Steps: []posthouse.RouteStep{{Channels: []string{chanel}, Until: posthouse.ProofAcknowledged, Within: posthouse.Duration(pause)}, {Channels: []string{chanel}}}},
	left:  budget{restores: 1, resumes: 1, acks: 1},
}, {
	name: "answers", about: "a route of two steps, the first until it is acknowledged; a person presses a button, and the provider may tell that again",
	messages: 2, slots: 1, sure: true, alone: true, policy: posthouse.Hold, wait: pause, tries: 1, answers: []answerBy{byPress},
	route: posthouse.Route{Name: "r", Steps: []posthouse.RouteStep{{Channels: []string{chanel}, Until: posthouse.ProofAcknowledged, Within: posthouse.Duration(pause)}, {Channels: []string{chanel}}}},
	left:  budget{crashes: 1, retells: 1},
}, {
	name: "answers of two", about: "two notifications to one number; a person answers one of them by a word, which the provider may tell again",
	messages: 2, notices: 2, slots: 1, sure: true, alone: true, policy: posthouse.Hold, wait: pause, tries: 1, answers: []answerBy{byWord},
	route: posthouse.Route{Name: "r", Steps: []posthouse.RouteStep{{Channels: []string{chanel}, Until: posthouse.ProofAcknowledged, Within: posthouse.Duration(pause)}}},
	left:  budget{retells: 1},
}, {
	name: "digest", about: "a digest gathers two messages, of which one may be cancelled; an unknown is left to people",
	messages: 4, gathered: 2, slots: 1, policy: posthouse.Hold, wait: pause, tries: 1, classes: []posthouse.Class{posthouse.ClassRecipient},
	digest: posthouse.Digest{Window: posthouse.Duration(pause), Max: 3, Always: true},
	left:   budget{crashes: 1, cancels: 1},
}}

// fullScenes are those of make prove: the same with more that goes wrong.
var fullScenes = []scene{{
	name: "hold", about: "one delivery, two processes and the rescuer; an unknown is left to people",
	messages: 1, slots: 1, policy: posthouse.Hold, wait: pause, tries: 2, classes: []posthouse.Class{posthouse.ClassTransient, posthouse.ClassRecipient},
	left: budget{crashes: 1, freezes: 1, lies: 1, lates: 1, cancels: 1, resolves: 1, replays: 1},
}, {
	name: "retry", about: "the same; an unknown is sent again, at a provider that knows no keys",
	messages: 1, slots: 1, policy: posthouse.Retry, wait: pause, tries: 3, classes: []posthouse.Class{posthouse.ClassTransient},
	left: budget{crashes: 1, freezes: 2, lies: 1, lates: 1, cancels: 1},
}, {
	name: "window", about: "the same, at a provider that knows a key for three waits",
	messages: 1, slots: 1, policy: posthouse.Retry, window: known + pause, wait: pause, tries: 5, classes: []posthouse.Class{posthouse.ClassTransient},
	left: budget{crashes: 2, freezes: 2, cancels: 1},
}, {
	name: "deadline", about: "one delivery that is to begin before its second try, and is replayed",
	messages: 1, slots: 1, policy: posthouse.Hold, wait: pause, tries: 3, classes: []posthouse.Class{posthouse.ClassTransient, posthouse.ClassRecipient},
	deadline: pause + timeout, hold: 2 * pause, left: budget{crashes: 1, freezes: 1, resolves: 1, replays: 1},
}, {
	name: "restore", about: "one delivery, and a person who raises the epoch",
	messages: 1, slots: 1, policy: posthouse.Retry, wait: pause, tries: 2, classes: []posthouse.Class{posthouse.ClassTransient},
	left: budget{crashes: 1, freezes: 1, restores: 1, resolves: 1, cancels: 1},
}, {
	name: "two", about: "two deliveries of one lane, claimed together or apart",
	messages: 2, slots: 2, policy: posthouse.Hold, wait: pause, tries: 1,
	left: budget{crashes: 1, freezes: 1, cancels: 1},
}, {
	name: "accept", about: "one delivery that begins as it is accepted, or is due; the epoch may be raised",
	messages: 1, accepts: true, slots: 1, policy: posthouse.Hold, wait: pause, tries: 1, classes: []posthouse.Class{posthouse.ClassTransient},
	left: budget{crashes: 1, freezes: 1, lies: 1, lates: 1, restores: 1, cancels: 1, resolves: 1},
}, {
	name: "accept two", about: "two deliveries that begin as they are accepted, or are due",
	messages: 2, accepts: true, slots: 2, policy: posthouse.Hold, wait: pause, tries: 1, classes: []posthouse.Class{posthouse.ClassTransient},
	left: budget{crashes: 1, cancels: 1},
}, {
	name: "line", about: "two deliveries with one ordering key",
	messages: 2, slots: 2, line: true, policy: posthouse.Hold, wait: pause, tries: 2, classes: []posthouse.Class{posthouse.ClassTransient},
	left: budget{crashes: 1, freezes: 1, resolves: 1},
}, {
	name: "limit", about: "two deliveries of one lane, with a window that lets one through",
	messages: 2, slots: 1, every: pause - lease, policy: posthouse.Hold, wait: pause, tries: 1,
	left: budget{crashes: 2, cancels: 1, resolves: 1},
}, {
	name: "cap", about: "two messages to a person whom a cap lets get one; an unknown is sent again",
	messages: 2, slots: 1, cap: 1, policy: posthouse.Retry, wait: pause, tries: 2, classes: []posthouse.Class{posthouse.ClassTransient},
	left: budget{crashes: 1, freezes: 1, cancels: 1},
}, {
	name: "cap resolved", about: "the same, while an unknown is left to people",
	messages: 2, slots: 1, cap: 1, policy: posthouse.Hold, wait: pause, tries: 2, classes: []posthouse.Class{posthouse.ClassTransient},
	left: budget{crashes: 2, resolves: 2},
}, {
	name: "segment", about: "a campaign's segment of three members; an unknown is left to people",
	members: 3, slots: 1, policy: posthouse.Hold, wait: pause, tries: 1, classes: []posthouse.Class{posthouse.ClassRecipient},
	left: budget{crashes: 1},
}, {
	name: "pair", about: "a segment of two members, sent to at once",
	members: 2, slots: 2, policy: posthouse.Hold, wait: pause, tries: 1,
	left: budget{crashes: 1, freezes: 1},
}, {
	name: "route", about: "a route of two steps: the next where the one before failed or is too late; an unknown is left to people",
	messages: 2, slots: 1, policy: posthouse.Hold, wait: pause, tries: 1, classes: []posthouse.Class{posthouse.ClassRecipient},
	route: posthouse.Route{Name: "r", Steps: []posthouse.RouteStep{{Channels: []string{chanel}, Within: posthouse.Duration(pause)}, {Channels: []string{chanel}}}},
	left:  budget{crashes: 1, freezes: 1, acks: 1},
}, {
	name: "route resolved", about: "the same, and a person says what became of an unknown",
	messages: 2, slots: 1, policy: posthouse.Hold, wait: pause, tries: 1, classes: []posthouse.Class{posthouse.ClassRecipient},
	route: posthouse.Route{Name: "r", Steps: []posthouse.RouteStep{{Channels: []string{chanel}, Within: posthouse.Duration(pause)}, {Channels: []string{chanel}}}},
	left:  budget{crashes: 1, acks: 1, resolves: 1},
}, {
	name: "fall back", about: "the same, and what is in doubt does not wait",
	messages: 2, slots: 2, policy: posthouse.Hold, wait: pause, tries: 1,
	route: posthouse.Route{Name: "r", OnUnknown: posthouse.UnknownFallBack, Steps: []posthouse.RouteStep{{Channels: []string{chanel}, Within: posthouse.Duration(pause)}, {Channels: []string{chanel}}}},
	left:  budget{crashes: 1, freezes: 1, acks: 1},
}, {
	name: "delivered", about: "a route of two steps: the next where the first is not proven to have been delivered in time",
	messages: 2, slots: 1, policy: posthouse.Hold, wait: pause, tries: 1,
	route: posthouse.Route{Name: "r", Steps: []posthouse.RouteStep{{Channels: []string{chanel}, Until: posthouse.ProofDelivered, Within: posthouse.Duration(pause)}, {Channels: []string{chanel}}}},
	left:  budget{crashes: 1, receipts: 2, acks: 1},
}, {
	name: "over", about: "a route of two steps, the first until it is delivered; the sender says that it is over, and a person takes note",
	messages: 2, slots: 1, alone: true, policy: posthouse.Hold, wait: pause, tries: 1,
	route: posthouse.Route{Name: "r", Steps: []posthouse.RouteStep{{Channels: []string{chanel}, Until: posthouse.ProofDelivered, Within: posthouse.Duration(pause)}, {Channels: []string{chanel}}}},
	left:  budget{crashes: 1, receipts: 2, acks: 1, overs: 1},
}, {
	name: "restored", about: "a route of two steps, the first until it is acknowledged; the epoch may be raised, and a person takes note or lets it go on",
	messages: 2, slots: 1, alone: true, policy: posthouse.Hold, wait: pause, tries: 1,
	route: posthouse.Route{Name: "r", Steps: []posthouse.RouteStep{{Channels: []string{chanel}, Until: posthouse.ProofAcknowledged, Within: posthouse.Duration(pause)}, {Channels: []string{chanel}}}},
	left:  budget{restores: 1, resumes: 1, acks: 1, resolves: 1},
}, {
	name: "answers", about: "a route of two steps, the first until it is acknowledged; a person presses a button and sends the code, and the providers may tell that again",
	messages: 2, slots: 1, sure: true, policy: posthouse.Hold, wait: pause, tries: 1, answers: []answerBy{byPress, byCode},
	route: posthouse.Route{Name: "r", Steps: []posthouse.RouteStep{{Channels: []string{chanel}, Until: posthouse.ProofAcknowledged, Within: posthouse.Duration(pause)}, {Channels: []string{chanel}}}},
	left:  budget{retells: 1},
}, {
	name: "answers lost", about: "the same with a button alone, while calls and their answers are lost",
	messages: 2, slots: 1, policy: posthouse.Hold, wait: pause, tries: 1, answers: []answerBy{byPress},
	route: posthouse.Route{Name: "r", Steps: []posthouse.RouteStep{{Channels: []string{chanel}, Until: posthouse.ProofAcknowledged, Within: posthouse.Duration(pause)}, {Channels: []string{chanel}}}},
	left:  budget{crashes: 1},
}, {
	name: "answers of two", about: "two notifications to one number; a person answers one of them by a word, which the provider may tell again",
	messages: 2, notices: 2, slots: 1, sure: true, alone: true, policy: posthouse.Hold, wait: pause, tries: 1, answers: []answerBy{byWord},
	route: posthouse.Route{Name: "r", Steps: []posthouse.RouteStep{{Channels: []string{chanel}, Until: posthouse.ProofAcknowledged, Within: posthouse.Duration(pause)}}},
	left:  budget{crashes: 1, retells: 1},
}, {
	name: "digest", about: "a digest gathers two messages, of which one may be cancelled; an unknown is left to people",
	messages: 4, gathered: 2, slots: 1, policy: posthouse.Hold, wait: pause, tries: 1, classes: []posthouse.Class{posthouse.ClassRecipient},
	digest: posthouse.Digest{Window: posthouse.Duration(pause), Max: 3, Always: true},
	left:   budget{crashes: 1, freezes: 1, cancels: 1},
}, {
	name: "digest late", about: "a digest gathers two messages, of which one comes while the other waits, leaves or has left",
	messages: 4, gathered: 2, late: 1, slots: 1, policy: posthouse.Hold, wait: pause, tries: 1,
	digest: posthouse.Digest{Window: posthouse.Duration(pause), Max: 3, Always: true},
	left:   budget{crashes: 1},
}, {
	name: "digest of three", about: "a digest gathers three messages, two at most together; one that is alone leaves as it is",
	messages: 4, gathered: 3, late: 1, slots: 1, policy: posthouse.Hold, wait: pause, tries: 1,
	digest: posthouse.Digest{Window: posthouse.Duration(pause), Max: 2},
}, {
	name: "digest too long", about: "a digest gathers three messages, of which the provider takes two in one text; one may be cancelled",
	messages: 6, gathered: 3, room: 2, slots: 1, policy: posthouse.Hold, wait: pause, tries: 1,
	digest: posthouse.Digest{Window: posthouse.Duration(pause), Always: true},
	left:   budget{crashes: 1, cancels: 1},
}, {
	name: "digest delivered", about: "a digest gathers two messages; the provider says later what became of their delivery, and a person of an unknown",
	messages: 3, gathered: 2, slots: 1, policy: posthouse.Hold, wait: pause, tries: 2, classes: []posthouse.Class{posthouse.ClassTransient},
	digest: posthouse.Digest{Window: posthouse.Duration(pause), Max: 2},
	left:   budget{crashes: 1, receipts: 1, resolves: 1},
}, {
	name: "digest restored", about: "a digest gathers two messages, the epoch may be raised, and a person resolves what is held",
	messages: 3, gathered: 2, slots: 1, policy: posthouse.Hold, wait: pause, tries: 1,
	digest: posthouse.Digest{Window: posthouse.Duration(pause), Max: 2},
	left:   budget{restores: 1, resolves: 1},
}}
