// The users of the emulator, their sign-ins, and the credentials of the container.

import { administration } from './administration.js'
import { addressOf } from './address.js'
import { actAs, createUser, dot } from './acting.js'
import { button, copyButton, fill, h } from './dom.js'
import { openDialog, say } from './dialogs.js'
import { whileShown } from './events.js'
import { actingUser, identityName, session } from './session.js'
import { count, localDate } from './values.js'

/**
 * A secret that is shown when one asks for it.
 * @param {string} text @param {string} name
 */
function secret(text, name) {
  const code = h('code', { class: 'secret' }, '•'.repeat(24))
  const toggle = button(`Show the ${name}`, () => { const isShown = code.textContent === text; code.textContent = isShown ? '•'.repeat(24) : text; toggle.setAttribute('aria-label', `${isShown ? 'Show' : 'Hide'} the ${name}`) }, { icon: 'search', quiet: true })
  return h('span', { class: 'secret-row' }, code, toggle, copyButton(text, `Copy the ${name}`))
}

export async function peopleSection() {
  const place = h('div', { class: 'section-body' })
  const element = h('section', { class: 'section' }, h('div', { class: 'section-head' }, h('h1', null, 'People'), h('span', { class: 'badge' }, String(session.users.length)), h('span', { class: 'space' }), session.canAdminister && button('New user', async () => { if (await createUser()) draw() }, { icon: 'plus', kind: 'primary' })), place)

  async function signIn(user) {
    try {
      const { webAuthToken, expiresTimestamp } = await administration.signIn(user.userRecordName)
      openDialog(`${identityName(user.userRecordName)} is signed in`, () => h('div', { class: 'prose' },
        h('p', null, 'A client sends this web authentication token beside an API token of the container. It is valid until ', localDate(expiresTimestamp), '.'),
        secret(webAuthToken, 'token'), h('p', { class: 'note' }, 'Percent-encode it once in addresses. Commands take it from MISTKIT_WEB_AUTH_TOKEN, or sign in by themselves:'), h('pre', { class: 'code' }, `mistkit auth sign-in --user ${user.userRecordName}`)))
    } catch (error) { say(error.message, { kind: 'bad' }) }
  }

  function draw() {
    const recordsOf = user => session.counts.filter(item => item.ownerRecordName === user.userRecordName).reduce((sum, item) => sum + item.records, 0)
    fill(place, h('div', { class: 'card' }, h('div', { class: 'scroll-x' }, h('table', { class: 'plain-table' },
      h('thead', null, h('tr', null, h('th', { scope: 'col' }, 'Name'), h('th', { scope: 'col' }, 'E-mail address'), h('th', { scope: 'col' }, 'Phone'), h('th', { scope: 'col' }, 'User record name'), h('th', { scope: 'col', class: 'number' }, 'Private records'), h('td'))),
      h('tbody', null, session.users.map(user => h('tr', null,
        h('td', null, h('span', { class: 'person' }, dot(user.userRecordName), h('span', null, identityName(user.userRecordName)), actingUser() === user.userRecordName && h('span', { class: 'badge accent' }, 'acting'), user.userRecordName === session.userRecordName && h('span', { class: 'badge' }, 'default'), !user.discoverable && h('span', { class: 'badge' }, 'not discoverable'))),
        h('td', null, user.emailAddress ?? ''), h('td', null, user.phoneNumber ?? ''),
        h('td', { class: 'mono note' }, h('span', { class: 'person' }, user.userRecordName, copyButton(user.userRecordName, 'Copy the user record name'))),
        h('td', { class: 'number' }, recordsOf(user) ? h('a', { href: addressOf({ section: 'records', item: '', scope: 'private', zone: '', as: user.userRecordName === session.userRecordName ? '' : user.userRecordName }) }, count(recordsOf(user))) : '0'),
        h('td', { class: 'acts' }, button(`Act as ${identityName(user.userRecordName)}`, () => actAs(user.userRecordName), { icon: 'person', quiet: true }), session.canAdminister && button(`Sign in ${identityName(user.userRecordName)}`, () => signIn(user), { icon: 'link', quiet: true, title: 'A web authentication token for a client' })))))))),
      h('div', { class: 'card' }, h('header', null, h('h2', null, 'Who else asks')), h('div', { class: 'card-body prose' }, session.identities.filter(identity => identity.value !== 'user').map(identity => h('p', null, h('span', { class: 'person' }, dot(identity.value), h('strong', null, identity.title), h('span', { class: 'note' }, `reaches ${identity.databases.join(', ')}`), button(`Act as ${identity.title}`, () => actAs(identity.value), { kind: 'plain named' })))))))
  }
  draw()
  whileShown('users', element, () => setTimeout(draw, 150))
  return { element, update: (now, old) => { if (now.section !== old.section) return false; draw(); return true }, commands: () => !session.canAdminister ? [] : [{ text: 'New user', keys: 'n', act: async () => { if (await createUser()) draw() } }] }
}

