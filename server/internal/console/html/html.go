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

// Elements.
var (
	El, Doctype                             = g.El, html.Doctype
	A, Body, Button, Code, Dd, Del          = html.A, html.Body, html.Button, html.Code, html.Dd, html.Del
	Details, Div, Dl, Dt, Form, H1, H2      = html.Details, html.Div, html.Dl, html.Dt, html.Form, html.H1, html.H2
	H3, HTML, Head, Header, Input, Ins      = html.H3, html.HTML, html.Head, html.Header, html.Input, html.Ins
	Label, Li, Link, Main, Meta, Nav, Ol    = html.Label, html.Li, html.Link, html.Main, html.Meta, html.Nav, html.Ol
	Option, P, Pre, Script, Section, Select = html.Option, html.P, html.Pre, html.Script, html.Section, html.Select
	Small, Span, Strong, Summary, TBody     = html.Small, html.Span, html.Strong, html.Summary, html.TBody
	THead, Table, Td, Textarea, Th, TitleEl = html.THead, html.Table, html.Td, html.Textarea, html.Th, html.TitleEl
	Tr, Ul                                  = html.Tr, html.Ul
)

// Attributes.
var (
	Attr                                       = g.Attr
	Action, Aria, AutoComplete, Charset, Class = html.Action, html.Aria, html.AutoComplete, html.Charset, html.Class
	Content, Data, Defer, For, Href, ID        = html.Content, html.Data, html.Defer, html.For, html.Href, html.ID
	Lang, Method, Min, Name, Rel, Required     = html.Lang, html.Method, html.Min, html.Name, html.Rel, html.Required
	Role, Rows, Scope, Selected, Src           = html.Role, html.Rows, html.Scope, html.Selected, html.Src
	TabIndex, Type, Value                      = html.TabIndex, html.Type, html.Value
)
