package gitcommand

import (
	"encoding/base64"
	"net/url"
)

// Login takes the password out of an address: what git is to ask, and the settings
// that log in there. Git's own arguments can be read by every user of the machine, and
// what git says has them in it.
func Login(address string) (clean string, settings map[string]string) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.User == nil {
		return address, nil
	}
	password, given := u.User.Password()
	if !given {
		return address, nil // a name, for which git has the password
	}
	user := u.User.Username()
	u.User = nil
	return u.String(), Authorization(u.String(), user, password)
}

// Authorization are the settings with which git logs in at a URL of http, nil without
// user and password.
func Authorization(url, user, password string) map[string]string {
	if user == "" && password == "" {
		return nil
	}
	return map[string]string{
		"http." + url + ".extraHeader": "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password)),
	}
}
