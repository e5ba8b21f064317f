package guest

import (
	"net/http"
	"slices"
)

// try is one advice for a door that does not open: the message web.shut.TRY.
type try string

const (
	tryRightDoor try = "right"    // check that it is the right door
	tryDigits    try = "digits"   // type the code as this keypad requires
	tryPush      try = "push"     // push at once, before the lock locks again
	tryBlocked   try = "blocked"  // wait until the keypad accepts codes again
	tryFromTime  try = "fromTime" // come back when the code becomes valid
	tryWait      try = "wait"     // wait until the lock has the code
	tryPressure  try = "pressure" // push or pull the door to free a jammed bolt
	tryPhone     try = "phone"    // open it with the phone (a SmartKey)
	tryNoCode    try = "noCode"   // there is no working code: do not type it again
)

// cutOff are the reasons for which no command reaches a door's lock. A SmartKey on a phone does not open such a door either.
var cutOff = []string{"noLock", "noBridge", "bridgeRevoked", "spaceInactive", "lockOffline"}

// triesAt returns the advice for a door that does not open, in the order of the page. The page adds the last step, to call the property.
// phone means that this device can have a SmartKey, a token that opens doors. Without phone, and if cutOff has the door's reason, the last
// advice "phone" is left out.
//
//	the door                                  tries
//	has no working code                       do not type it again, phone
//	is jammed                                 pressure, phone
//	gets its code just now                    wait, phone
//	has the code, which opens later           come back
//	has the code, or may have it              right door, digits, push, blocked, phone
func triesAt(d doorState, phone bool) []try {
	var all []try
	switch {
	case d.GetReason() == "lockJammed":
		all = []try{tryPressure, tryPhone}
	case d.Tone == toneBad || d.Tone == toneWarn:
		all = []try{tryNoCode, tryPhone}
	case d.Tone == toneInfo:
		all = []try{tryWait, tryPhone}
	case d.Text == "web.pin.from":
		return []try{tryFromTime}
	default:
		all = []try{tryRightDoor, tryDigits, tryPush, tryBlocked, tryPhone}
	}
	return slices.DeleteFunc(all, func(t try) bool {
		return t == tryPhone && (!phone || slices.Contains(cutOff, d.GetReason()))
	})
}

// shutDoors are doors of the stay for which the page gives the same advice.
type shutDoors struct {
	Doors []doorState
	Tries []try
}

// showDoorHelp handles the page with advice for a guest who cannot open a door. It has the doors that the page of the PINs lists, also
// those that the code opens.
func (s *site) showDoorHelp(x *exchange) error {
	phone := x.openView().Opens
	var groups []shutDoors
	for _, d := range x.doors() {
		tries := triesAt(d, phone)
		at := slices.IndexFunc(groups, func(g shutDoors) bool { return slices.Equal(g.Tries, tries) })
		if at < 0 {
			at, groups = len(groups), append(groups, shutDoors{Tries: tries})
		}
		groups[at].Doors = append(groups[at].Doors, d)
	}
	p := x.stayPage("web.shut.title")
	p.Data = groups
	return x.render(http.StatusOK, "shut", p)
}
