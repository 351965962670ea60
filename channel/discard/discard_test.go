package discard_test

import (
	"testing"

	"github.com/posthouse/posthouse/channel/channeltest"
	"github.com/posthouse/posthouse/channel/discard"
)

func TestContract(t *testing.T) {
	channeltest.Run(t, channeltest.Case{Type: discard.Type(), Offline: true})
}
