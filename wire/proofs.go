package wire

import (
	"encoding/json"
	"time"

	"github.com/posthouse/posthouse"
)

// ProofFormat names the form of a proof and of its statement.
const ProofFormat = "posthouse-proof/1"

// Proof is a signed statement of what became of a message.
type Proof struct {
	Format    string   `json:"format" doc:"posthouse-proof/1."`
	Statement string   `json:"statement" doc:"What is stated, as a JSON text within this string. The signature is over its bytes in UTF-8, just as they are."`
	SHA256    string   `json:"sha256" doc:"The SHA-256 of these bytes, in hexadecimal."`
	Algorithm string   `json:"algorithm" doc:"Ed25519."`
	KeyID     string   `json:"key_id" doc:"The key that signed: GET /v1/proof/keys lists it."`
	PublicKey string   `json:"public_key" doc:"Its public half, in PEM. Compare it with the one that you know from elsewhere."`
	Signature string   `json:"signature" doc:"The signature, in base64."`
	Check     []string `json:"check" doc:"The commands that check it without Posthouse."`
}

// ProofKey is a public key that proofs are signed with.
type ProofKey struct {
	ID          string    `json:"id" doc:"The first 16 digits of the fingerprint."`
	Algorithm   string    `json:"algorithm" doc:"Ed25519."`
	PublicKey   string    `json:"public_key" doc:"The key, in PEM."`
	Fingerprint string    `json:"fingerprint" doc:"The SHA-256 of the key's DER form, in hexadecimal."`
	Since       time.Time `json:"since,omitzero" doc:"When it first signed a proof of this database. Missing where it has not."`
	Current     bool      `json:"current" doc:"It signs now. The others stay listed: what they have signed is checked with them."`
}

// ProofReveal asks for a proof with the hidden content of a sensitive message.
type ProofReveal struct {
	Reason string `json:"reason" doc:"Why: it stands in the audit log."`
}

// ProofStatement is what a proof states. It is signed as a text, so that it never has to be written again.
type ProofStatement struct {
	Format string    `json:"format"`
	MadeAt time.Time `json:"made_at"`
	// Server is the version of the program.
	Server string `json:"server"`
	KeyID  string `json:"key_id"`
	Tenant string `json:"tenant"`
	// Person is whom alone it is about. Defaults to all recipients.
	Person string `json:"person,omitempty"`
	// Others counts the other people whom the notifications mean or have addressed. The statement does not name them.
	Others int `json:"others,omitempty"`
	// Message is what was to be said. Of a sensitive message it has no content.
	Message posthouse.Message `json:"message"`
	// Recipients are how many the message had in all.
	Recipients int `json:"recipients"`
	// Notifications are whether each person was told, by which steps, and who has taken note. They are of messages that follow a route.
	Notifications []posthouse.Notification `json:"notifications,omitempty"`
	// Acks are what the hash chain says of the acknowledgements among Notifications.
	Acks []ProofAck `json:"acknowledgements,omitempty"`
	// Parts are what was sent: the message itself, or each step's message of a route.
	Parts []ProofPart `json:"parts"`
	// Archive is the file that it was read from, where it was: then the database may have it no more.
	Archive *ProofArchive `json:"archive,omitempty"`
	// Notes are what a reader must know of the statement's bounds.
	Notes []ProofNote `json:"notes"`
}

// ProofArchive is the archive that a statement was read from. Its lines have the SHA-256 that its last line says, and that is signed.
type ProofArchive struct {
	SHA256 string `json:"sha256"`
	KeyID  string `json:"key_id"`
}

// ProofPart is a message that was sent, with its deliveries.
type ProofPart struct {
	ID string `json:"id"`
	// Step is its step of the route, from 1. Message is what it says; of a message without a route that is the statement's.
	Step    int                `json:"step,omitempty"`
	Message *posthouse.Message `json:"message,omitempty"`
	// Hidden stands for a content that is sensitive.
	Hidden *ProofHidden `json:"hidden,omitempty"`
	// Masked has the SHA-256, in hexadecimal, of each whole text of the content in which a link or a key is masked, by the name of its
	// field: title, text, extra or payload.
	Masked     map[string]string `json:"masked,omitempty"`
	Deliveries []ProofDelivery   `json:"deliveries"`
	Chain      ProofChain        `json:"chain"`
}

// ProofHidden stands for a content that the statement does not show.
type ProofHidden struct {
	// Digest is the SHA-256 of the salt, a line feed and the text, in hexadecimal. Without the salt, a text cannot be found by trying.
	Digest string `json:"digest,omitempty"`
	// Salt and Text are there where the content was revealed for the proof. Text is a JSON text with content and payload.
	Salt string `json:"salt,omitempty"`
	Text string `json:"text,omitempty"`
	// Gone says why there is not even a digest.
	Gone string `json:"gone,omitempty"`
}

// ProofDelivery is what became of one recipient's copy.
type ProofDelivery struct {
	Delivery posthouse.Delivery `json:"delivery"`
	// Attempts are the tries to send it, with what was asked and answered.
	Attempts []posthouse.Attempt `json:"attempts"`
	// Events are all that happened to it, receipts among them. What was asked and answered stands with the attempts.
	Events []posthouse.Event `json:"events"`
	// More is set where there are more of both than one statement has room for.
	More bool `json:"more,omitempty"`
}

// ProofChainState says how a message stands to the hash chain.
type ProofChainState string

// The states.
const (
	ProofSealed    ProofChainState = "sealed"     // it is as it was sealed
	ProofChanged   ProofChainState = "changed"    // it is not as it was sealed
	ProofNotSealed ProofChainState = "not_sealed" // no link has sealed it yet
	ProofChainOff  ProofChainState = "off"        // the server seals nothing
	ProofForgotten ProofChainState = "forgotten"  // a link has sealed it, and what that sealed is too old to be kept
)

// ProofAck is what the hash chain says of a notification's acknowledgement. The line of its chain has the notification's id, 0, and the digest
// of the row; the row has who acknowledged it, when and how.
type ProofAck struct {
	Notification string     `json:"notification"`
	Chain        ProofChain `json:"chain"`
}

// ProofChain is what the hash chain says of a part, or of an acknowledgement.
type ProofChain struct {
	State ProofChainState `json:"state"`
	Link  *ProofLink      `json:"link,omitempty"`
	// Line is the message in what the link sealed: its id, the digest of its row, and of each delivery its number, how many events were
	// sealed, the digest of these with what never changes, and the digest of the row that they left. A digest is the first half of a SHA-256
	// in base64 for URLs.
	Line string `json:"line,omitempty"`
	// Row is the text that the digest of the message's row is of.
	Row string `json:"row,omitempty"`
	// Stories are the texts that the digests of the deliveries are of.
	Stories []ProofStory `json:"stories,omitempty"`
	// Differences are what is not as it was sealed.
	Differences []string `json:"differences,omitempty"`
	// Masked is set where a row or a story is left out, since a link or a key stands in it.
	Masked bool `json:"masked,omitempty"`
}

// ProofLink is a link of the hash chain.
type ProofLink struct {
	Seq      int64     `json:"seq"`
	At       time.Time `json:"at"`
	Low      string    `json:"low"`
	High     string    `json:"high"`
	Messages int       `json:"messages"`
	BodyHash string    `json:"body_sha256"`
	Prev     string    `json:"previous"`
	Hash     string    `json:"hash"`
	// Text is what Hash is the SHA-256 of.
	Text string `json:"text"`
}

// ProofStory has the texts whose digests a line has of a delivery.
type ProofStory struct {
	Delivery string `json:"delivery"`
	// Sealed is how many events were sealed, Behind how many have followed since.
	Sealed int    `json:"sealed"`
	Behind int    `json:"behind,omitempty"`
	Text   string `json:"text,omitempty"`
	Row    string `json:"row,omitempty"`
}

// ProofNote is a bound of a statement: a stable word, and a sentence.
type ProofNote struct {
	Code string `json:"code"`
	Text string `json:"text"`
}

// ReadStatement reads what a proof states. It does not check the signature.
func (p Proof) ReadStatement() (ProofStatement, error) {
	var s ProofStatement
	err := json.Unmarshal([]byte(p.Statement), &s)
	return s, err
}
