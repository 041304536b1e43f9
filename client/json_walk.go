package client

import (
	"encoding/json"
	"errors"

	"governor/client/decode"
)

var errJSON = errors.New("not valid JSON")

// eachMember walks one object: f takes the value of each member.
func eachMember(in *decode.JSONReader, f func(name string) error) error {
	return eachElement(in, '{', '}', func() error {
		data, err := in.Value()
		if err != nil {
			return err
		}
		var name string
		if json.Unmarshal(data, &name) != nil {
			return errJSON
		}
		if err := in.Delimiter(':'); err != nil {
			return err
		}
		return f(name)
	})
}

// eachElement walks what is between two brackets: f takes each element.
func eachElement(in *decode.JSONReader, opening, closing byte, f func() error) error {
	if err := in.Delimiter(opening); err != nil {
		return err
	}
	next, err := in.Peek()
	for first := true; err == nil && next != closing; first = false {
		if !first {
			err = in.Delimiter(',')
		}
		if err == nil {
			err = f()
		}
		if err == nil {
			next, err = in.Peek()
		}
	}
	if err != nil {
		return err
	}
	return in.Delimiter(closing)
}
