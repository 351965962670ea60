package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/server"
	"github.com/posthouse/posthouse/wire"
)

// What the document's examples stand for.
const (
	aMessage  = "01M7YB1WZMBNVQWRX67H460000"
	aDelivery = "01M7YB1WZMBNVQWRX67H460001"
	aJob      = "01M7YXSEVRDX4TBXB00K410000"
	aKey      = "7d2kq0v9x4ma"

	aSubscription = "01KMJ4Q8Z3X7C2V5B6N9WD0000"
)

const (
	asksOutside  = "it calls an address that is not here: tests of its own have one"
	wantsAFile   = "it goes with a file that examples do not hold: tests of internal/api send some"
	onlyBegun    = "its example only counts, and begins no decision: tests of internal/api begin some"
	isCalledBack = "a provider signs it, and not every channel has one: TestFLEET_AProviderTellsWhatBecameOfAMessage"
)

// elsewhere says why the example of an operation is not sent here.
var elsewhere = map[string]string{
	"streamEvents": "it does not end: TestWhatHappensIsTold reads it", "watchCampaign": wantsAFile, "resolveCampaign": wantsAFile,
	"testAccount": asksOutside, "testSubscription": asksOutside,
	"importMembers": wantsAFile, "previewMembers": wantsAFile, "importAudience": wantsAFile, "listRefusedMembers": wantsAFile, "listRefusedOfAudience": wantsAFile,
	"createCampaign": wantsAFile, "getCampaign": wantsAFile, "planCampaign": wantsAFile, "findMember": wantsAFile, "sampleCampaign": wantsAFile, "exportMembers": wantsAFile, "cancelCampaign": wantsAFile, "deleteCampaign": wantsAFile,
	"createCallback": isCalledBack, "deleteCallback": isCalledBack, "checkCallback": isCalledBack, "takeCallback": isCalledBack,
	"getDecision": onlyBegun, "stopDecision": onlyBegun, "undoDecision": onlyBegun,
	"revealFrontCall":    "nobody has called the front: TestAGroupOfAlertsIsOneMessage reveals a call",
	"revealProof":        "its message is not sensitive: TestAProofSaysWhatBecameOfAMessage reveals one",
	"revealMessage":      "its message is not sensitive: TestHiddenContentsAreRevealedForAReason reveals one",
	"importSuppressions": wantsAFile, "deleteSuppression": "its channel is not here: TestSuppressionsHoldFromTheirAnswerOn deletes some",
	"addMedia": wantsAFile, "getMedia": wantsAFile, "downloadMedia": wantsAFile, "deleteMedia": wantsAFile, "fetchMedia": asksOutside,
	"queryMembers": asksOutside, "queryAudienceMembers": asksOutside, "importFollowers": asksOutside, "importAudienceFollowers": asksOutside,
	"startCampaign": wantsAFile, "testCampaign": wantsAFile, "pauseCampaign": wantsAFile, "resumeCampaign": wantsAFile, "repairCampaign": wantsAFile, "repeatCampaign": wantsAFile,
	"createPreferencesLink": "the server has no public_url: TestAPersonChoosesByTheLink makes one",
	"getChannelPreset":      "its channel is made of no preset: TestAnInstallationAddsPresetsOfItsOwn has one that is",
	"cloneCampaign":         wantsAFile, "changeCampaign": wantsAFile, "unscheduleCampaign": wantsAFile,
}

// operation is one of the document, as its reader calls it.
type operation struct {
	OperationID string                `json:"operationId"`
	Description string                `json:"description"`
	Security    []map[string][]string `json:"security"`
	Parameters  []struct {
		Name, In, Description string
		Example               any
	} `json:"parameters"`
	RequestBody struct {
		Content map[string]struct{ Example any } `json:"content"`
	} `json:"requestBody"`
	Responses map[string]any `json:"responses"`

	method, path string
}

// trier makes the calls of the document's examples, in an order in which they make sense.
type trier struct {
	*house
	operations map[string]operation
	known      map[string]string // what an example's id is here
	agentKey   string
	tried      map[string]bool
}

// TestTheExamplesOfTheDocumentWork sends every example, with the examples of all its parameters.
func TestTheExamplesOfTheDocumentWork(t *testing.T) {
	t.Parallel()
	h := open(t, dbtest.SQLite(t), func(o *server.Options) {
		o.SMS = server.SMS{Username: "desk", Password: "a pair for tests 4711"}
		o.Settings = []wire.ServerSetting{{Name: "keep", Value: "30d", Source: wire.SettingByFlag, At: "--keep"}}
		o.Examine = func(context.Context) []wire.Finding {
			return []wire.Finding{{Check: "clock", OK: true, Detail: "the machine's own"}}
		}
	})
	c := &trier{house: h, operations: map[string]operation{}, known: map[string]string{}, tried: map[string]bool{}}
	c.readDocument()
	c.try("putPreset listPresets getPreset deletePreset")
	c.try("getHealth getReadiness getIndex getDocs getDocsFile getOpenAPI getMetrics")
	c.try("putChannel getChannel listChannels testChannel pauseChannel resumeChannel listWindows listDrivers getTally")
	c.try("putTemplate getTemplate listTemplates previewTemplate testTemplate installTemplates putUsers getUser listUsers changeUser putPreferences getPreferences getEffectivePreferences revokePreferencesLinks")
	c.try("listFrontKinds putFront getFront listFronts listFrontCalls rotateFront deleteFront")
	c.try("putRoster getRoster listRosters overrideRoster getDuty checkRoster getDutySchedule")
	c.try("sendMessages listMessages getMessage listDeliveries getDelivery listAttempts listEvents getStory explainDelivery getProof listProofKeys resolveDeliveries")
	c.try("putDigest getDigest listDigests")
	c.gathered("listCollections getCollection leaveCollection")
	c.try("deleteDigest")
	c.try("putRoute getRoute listRoutes previewRoute")
	c.routed()
	c.try("listMessageNotifications listNotifications getNotification revokeNotificationLinks acknowledgeNotification acknowledgeMessage endNotification resumeNotification deleteRoute")
	c.try("countStopped beginDecision listDecisions")
	c.try("cancelMessage recallMessage cancelMessages replayDeliveries createReminder listReminders getReminder putReminder pauseReminder resumeReminder endReminder endReminders")
	c.channel(posthouse.Channel{Name: "oa", Driver: "console"})
	c.channel(posthouse.Channel{Name: "tianyuan", Driver: "console", ChannelSettings: posthouse.ChannelSettings{Profile: "duty"}})
	c.channel(posthouse.Channel{Name: "paced", Driver: "console", ChannelSettings: posthouse.ChannelSettings{Rate: &posthouse.RateSettings{}}})
	c.channel(posthouse.Channel{Name: "sms", Driver: "pull", ChannelSettings: posthouse.ChannelSettings{OnUnknown: posthouse.Hold}})
	c.try("listRates tellEvents listTasks getTask sendNotice listNotices getNotice enqueueJob listJobs getJob setJobStatus deleteJobs")
	c.row()
	c.try("listOutbox retryRow dropRow")
	c.agents()
	c.try("createSMSTemplate listSMSTemplates setSMSTemplate putDefaultSMS getDefaultSMS sendSMS getSMSTask fetchSMSTasks reportSMSTask getSMSStory listSMSLogs")
	c.try("getSMSStatistics listSMSStatuses getSMSRules recoverSMSTasks getSMSHealth listLogs")
	c.try("pauseAgent resumeAgent drainAgent reassignAgent deleteAgent createKey listKeys setKeyQuota rotateKey revokeKey listAudit exportAudit")
	c.try("putTenant createTenantKey listTenants getTenant deleteTenant putPerson getPerson listPeople linkPerson signOutPerson resetPersonTOTP deletePerson getOverview listProcesses listSettings runExamination lastExamination")
	c.channel(posthouse.Channel{Name: "wecom", Driver: "console", ChannelSettings: posthouse.ChannelSettings{Accounts: true, Rate: &posthouse.RateSettings{}}})
	c.try("putAccount putAccounts getAccount listAccounts getRateHistory exportAccounts pauseAccount resumeAccount deleteAccount")
	c.try("createSubscription listSubscriptions getSubscription listDeadLetters pauseSubscription resumeSubscription replaySubscription rotateSubscription deleteSubscription")
	c.try("addSuppression listSuppressions")
	c.try("listCallbacks listMedia createAudience getAudience listAudiences listCampaigns")
	c.try("deleteAudience deleteUser deleteRoster deleteTemplate deleteChannel")
	for id := range c.operations {
		if !c.tried[id] && elsewhere[id] == "" {
			t.Errorf("%s is not tried", id)
		}
	}
}

// gathered hands in a message that the example's digest gathers, and tries operations of its collection.
func (c *trier) gathered(names string) {
	c.Helper()
	sent, err := c.api.Messages.Send(c.Context(), posthouse.Draft{Channel: "desk", Digest: "evening", To: []posthouse.Recipient{{User: "li.na"}}, Content: &posthouse.Content{Text: "x"}})
	c.must(err)
	before := c.known[aMessage]
	c.known[aMessage] = c.delivery(sent.Accepted[0].Deliveries[0].ID).Collection
	c.try(names)
	c.known[aMessage] = before
}

// routed hands in a message that follows the example's route.
func (c *trier) routed() {
	c.Helper()
	sent, err := c.api.Messages.Send(c.Context(), posthouse.Draft{Route: "night", To: []posthouse.Recipient{{User: "li.na"}}, Content: &posthouse.Content{Text: "x"}})
	c.must(err)
	before := maps.Clone(c.known)
	c.known[aMessage], c.known[aDelivery] = sent.Accepted[0].ID, posthouse.DeliveryID(sent.Accepted[0].ID, 1)
	c.Cleanup(func() { c.known = before })
}

func (c *trier) readDocument() {
	c.Helper()
	answer, err := http.Get(c.url + "/openapi.json")
	c.must(err)
	defer answer.Body.Close()
	var doc struct {
		Paths map[string]map[string]operation
	}
	c.must(json.NewDecoder(answer.Body).Decode(&doc))
	for path, methods := range doc.Paths {
		for method, op := range methods {
			op.method, op.path = strings.ToUpper(method), path
			c.operations[op.OperationID] = op
		}
	}
}

func (c *trier) channel(ch posthouse.Channel) {
	c.Helper()
	_, _, err := c.api.Channels.Put(c.Context(), ch)
	c.must(err)
}

// row has the outbox hold a row that cannot be accepted.
func (c *trier) row() {
	c.Helper()
	_, err := c.db.ExecContext(c.Context(), `INSERT INTO posthouse_outbox (id, draft) VALUES ('order-4711', '{"channel": "nowhere", "to": [{"user": "u1"}], "content": {"text": "x"}}')`)
	c.must(err)
	c.eventually("the row is refused", func() bool {
		list, err := c.api.Outbox.List(c.Context(), client.Filter{})
		return err == nil && len(list.Items) > 0
	})
}

// agents has an agent fetch deliveries and report on them, so that a person has something to decide.
func (c *trier) agents() {
	c.Helper()
	c.try("createAgent getAgent listAgents putAgent createAgentKey")
	for range 3 {
		_, err := c.api.Messages.Send(c.Context(), posthouse.Draft{Channel: "sms", To: []posthouse.Recipient{{User: "13800138000"}}, Content: &posthouse.Content{Text: "x"}})
		c.must(err)
	}
	claimed := c.call(c.operations["claimHandouts"])
	c.tried["claimHandouts"] = true
	handouts, _ := claimed["handouts"].([]any)
	if len(handouts) != 3 {
		c.Fatalf("handed out %v, want 3", claimed)
	}
	about := func(i int) { c.known[aDelivery] = handouts[i].(map[string]any)["delivery"].(string) }
	about(0)
	c.try("startHandouts renewHandouts listHandouts reportHandouts receiveTexts")
	about(1)
	c.try("giveBackHandouts")
	about(2)
	c.call(c.operations["startHandouts"])
	c.report("unknown")
	c.try("resolveDelivery")
	c.replay()
}

// replay fails what was given back, so that it can be sent again.
func (c *trier) replay() {
	c.Helper()
	op := c.operations["claimHandouts"]
	op.RequestBody.Content = map[string]struct{ Example any }{"application/json": {map[string]any{"claim_id": "c-2"}}}
	handouts := c.call(op)["handouts"].([]any)
	c.known[aDelivery] = handouts[0].(map[string]any)["delivery"].(string)
	op = c.operations["reportHandouts"]
	op.RequestBody.Content = map[string]struct{ Example any }{"application/json": {map[string]any{
		"report_id": "r-3", "delivery": aDelivery, "token": handouts[0].(map[string]any)["token"], "outcome": "not_sent", "retry": false,
	}}}
	c.call(op)
	c.try("replayDelivery")
}

func (c *trier) report(outcome string) {
	c.Helper()
	op := c.operations["reportHandouts"]
	op.RequestBody.Content = map[string]struct{ Example any }{"application/json": {map[string]any{"report_id": "r-2", "delivery": aDelivery, "token": 1, "outcome": outcome}}}
	c.call(op)
}

// try calls operations by their names and learns what their answers stand for.
func (c *trier) try(names string) {
	c.Helper()
	for _, id := range strings.Fields(names) {
		op, ok := c.operations[id]
		if !ok {
			c.Errorf("the document has no %s", id)
			continue
		}
		c.tried[id] = true
		answer := c.call(op)
		switch id {
		case "sendMessages":
			c.known[aMessage], _ = answer["id"].(string)
			c.known[aDelivery] = strings.TrimSuffix(c.known[aMessage], "0000") + "0001"
		case "createSubscription":
			c.known[aSubscription], _ = answer["id"].(string)
		case "sendNotice":
			c.known[aDelivery], _ = answer["id"].(string)
		case "enqueueJob":
			c.known[aJob], _ = answer["jobId"].(string)
		case "createKey":
			c.known[aKey], _ = answer["id"].(string)
		case "createAgent":
			c.agentKey, _ = answer["secret"].(string)
		case "sendSMS":
			c.known[aDelivery], _ = answer["data"].(map[string]any)["task_id"].(string)
		}
	}
}

// here is a text with what an example's ids are here.
func (c *trier) here(text string) string {
	for example, ours := range c.known {
		text = strings.ReplaceAll(text, example, ours)
	}
	return text
}

// call makes the call of an operation's examples, which has to succeed as the document says.
func (c *trier) call(op operation) (answer map[string]any) {
	c.Helper()
	path, query := op.path, url.Values{}
	r, err := http.NewRequestWithContext(c.Context(), op.method, c.url, http.NoBody)
	c.must(err)
	for _, p := range op.Parameters {
		text := c.here(fmt.Sprint(p.Example))
		switch {
		case p.Example == nil:
		case strings.HasPrefix(p.Description, "Of a calendar:"): // the example is sent as JSON
		case p.In == "path":
			path = strings.ReplaceAll(path, "{"+p.Name+"}", url.PathEscape(text))
		case p.In == "query":
			query.Set(p.Name, text)
		case p.Name == "If-Match" || p.Name == "If-None-Match": // they are for one state of a thing
		case p.In == "header":
			r.Header.Set(p.Name, text)
		}
	}
	if body := op.RequestBody.Content["application/json"].Example; body != nil {
		text, err := json.Marshal(body)
		c.must(err)
		r.Body = io.NopCloser(bytes.NewReader([]byte(c.here(string(text)))))
		r.Header.Set("Content-Type", "application/json")
	}
	if r.URL, err = url.Parse(c.url + path + "?" + query.Encode()); err != nil {
		c.Fatal(err)
	}
	c.show(r, op)
	got, err := http.DefaultClient.Do(r)
	c.must(err)
	defer got.Body.Close()
	text, err := io.ReadAll(got.Body)
	c.must(err)
	if _, told := op.Responses[fmt.Sprint(got.StatusCode)]; got.StatusCode >= 300 || !told {
		c.Errorf("%s: %s %s answers %d, which the document does not say of its example: %.600s", op.OperationID, op.method, r.URL, got.StatusCode, text)
	}
	_ = json.Unmarshal(text, &answer)
	return answer
}

// show shows who calls, as the document asks for.
func (c *trier) show(r *http.Request, op operation) {
	byAgent := strings.Contains(op.Description, "agent's own key") || slices.Contains([]string{"fetchSMSTasks", "reportSMSTask"}, op.OperationID)
	key := c.key
	if byAgent {
		key = c.agentKey
	}
	for _, scheme := range op.Security {
		if scheme["basic"] != nil {
			r.SetBasicAuth("anybody", key)
		} else if scheme["key"] != nil {
			r.Header.Set("Authorization", "Bearer "+key)
		}
	}
}
