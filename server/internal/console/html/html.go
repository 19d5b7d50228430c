// Package html has the elements, attributes and texts that the pages of the console are made of. They are those of
// gomponents, as variables.
//
// A function of gomponents is so short that the compiler copies it to each place that calls it, with the function that
// it returns: the binary would have the code that writes an element 300 times. The compiler does not look through
// variables, so there is one copy, and the binary is 0.9 MB smaller.
package html

import (
	g "maragu.dev/gomponents"
	"maragu.dev/gomponents/html"
)

// Text and Textf escape what they are given.
var Text, Textf = g.Text, g.Textf

// Elements and attributes.
var (
	A, Action, Aria, Body, Button, Charset   = html.A, html.Action, html.Aria, html.Body, html.Button, html.Charset
	Class, Code, Content, Dd, Div, Dl        = html.Class, html.Code, html.Content, html.Dd, html.Div, html.Dl
	Doctype, Dt, For, Form, H1, H2           = html.Doctype, html.Dt, html.For, html.Form, html.H1, html.H2
	HTML, Head, Header, Href, ID, Input      = html.HTML, html.Head, html.Header, html.Href, html.ID, html.Input
	Label, Lang, Li, Link, Main, Meta        = html.Label, html.Lang, html.Li, html.Link, html.Main, html.Meta
	Method, Name, Ol, Option, P, Pre         = html.Method, html.Name, html.Ol, html.Option, html.P, html.Pre
	Rel, Role, Scope, Section, Select, Small = html.Rel, html.Role, html.Scope, html.Section, html.Select, html.Small
	Span, TBody, THead, TabIndex, Table, Td  = html.Span, html.TBody, html.THead, html.TabIndex, html.Table, html.Td
	Th, TitleEl, Tr, Type, Value, Attr       = html.Th, html.TitleEl, html.Tr, html.Type, html.Value, g.Attr
)
