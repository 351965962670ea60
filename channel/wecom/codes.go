package wecom

import (
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/internal/errcode"
)

// sendCodes are WeCom's codes for messages of applications, from its global list.
var sendCodes = errcode.Table{
	"-1":   {Class: posthouse.ClassTransient}, // busy: WeCom asks for another try
	"6000": {Class: posthouse.ClassTransient}, // two writes at once

	tooOften: {Class: posthouse.ClassRate, After: brief},
	"45033":  {Class: posthouse.ClassRate, After: 2 * time.Second, AtOnce: channel.OfChannel}, // calls at once, of the whole corporation

	"40014": {Class: posthouse.ClassAuth},
	"41001": {Class: posthouse.ClassAuth},
	"42001": {Class: posthouse.ClassAuth},

	"40001":   {Class: posthouse.ClassAccount}, // secret, corp, application, permission, address
	"40013":   {Class: posthouse.ClassAccount},
	"40056":   {Class: posthouse.ClassAccount},
	"40091":   {Class: posthouse.ClassAccount},
	"48002":   {Class: posthouse.ClassAccount},
	"48004":   {Class: posthouse.ClassAccount},
	"50003":   {Class: posthouse.ClassAccount},
	"60020":   {Class: posthouse.ClassAccount},
	"301002":  {Class: posthouse.ClassAccount},
	"2000002": {Class: posthouse.ClassAccount},

	"40003":  {Class: posthouse.ClassRecipient},
	"46004":  {Class: posthouse.ClassRecipient},
	"50002":  {Class: posthouse.ClassRecipient},
	"60011":  {Class: posthouse.ClassRecipient},
	"60111":  {Class: posthouse.ClassRecipient},
	"60123":  {Class: posthouse.ClassRecipient},
	"81013":  {Class: posthouse.ClassRecipient}, // none of them is known
	"86001":  {Class: posthouse.ClassRecipient}, // the group
	"86003":  {Class: posthouse.ClassRecipient},
	"86008":  {Class: posthouse.ClassRecipient},
	"701008": {Class: posthouse.ClassRecipient}, // no licence
	"701099": {Class: posthouse.ClassRecipient},

	"40007": {Class: posthouse.ClassContent}, // the media id is not known
	"40033": {Class: posthouse.ClassContent},
	"44004": {Class: posthouse.ClassContent},
	"45001": {Class: posthouse.ClassContent},
	"45002": {Class: posthouse.ClassContent},
	"45007": {Class: posthouse.ClassContent},
	"45008": {Class: posthouse.ClassContent},

	"40008": {Class: posthouse.ClassRequest},
	"40035": {Class: posthouse.ClassRequest},
	"40058": {Class: posthouse.ClassRequest},
	"40063": {Class: posthouse.ClassRequest},
	"41011": {Class: posthouse.ClassRequest},
	"60140": {Class: posthouse.ClassRequest},
	"82001": {Class: posthouse.ClassRequest},
	"82002": {Class: posthouse.ClassRequest},
	"82003": {Class: posthouse.ClassRequest},
}

// robotCodes are those for a group's robot.
var robotCodes = with(errcode.Table{
	"93000": {Class: posthouse.ClassAccount}, // the address is wrong, or the robot was removed
	"93004": {Class: posthouse.ClassAccount}, // it is stopped
	"93008": {Class: posthouse.ClassAccount}, // it is in no group
	// A robot has no list of members: what is refused of them is refused of the text.
	"40003": {Class: posthouse.ClassContent},
})

// with is sendCodes with others in their places.
func with(own errcode.Table) errcode.Table {
	table := errcode.Table{}
	for code, m := range sendCodes {
		table[code] = m
	}
	for code, m := range own {
		table[code] = m
	}
	return table
}
