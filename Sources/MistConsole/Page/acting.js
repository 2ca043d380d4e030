// Whom the page acts as. While it is not the default, the frame of the page has another colour and the name.

import { administration } from './administration.js'
import { view, show } from './address.js'
import { button, fill, h, icon } from './dom.js'
import { askForm, labelled, openMenu } from './dialogs.js'
import { actingUser, identityName, loadUsers, session } from './session.js'

/**
 * A colour of the style sheet for an identity.
 * @param {string} as
 */
function hue(as) {
  if (as === 'nobody' || as === 'server') return as
  let sum = 0
  for (const character of as) sum = (sum * 31 + character.charCodeAt(0)) % 997
  return `user-${sum % 5}`
}

/** @param {string} as */
export const dot = as => h('span', { class: `dot ${as && as !== session.userRecordName ? hue(as) : 'default'}`, 'aria-hidden': 'true' })

/** Asks for a new user, and acts as that one. */
export async function createUser() {
  const user = await askForm('New user', [
    labelled('Given name', h('input', { name: 'givenName', autocomplete: 'off' })),
    labelled('Family name', h('input', { name: 'familyName', autocomplete: 'off' })),
    labelled('E-mail address', h('input', { name: 'emailAddress', type: 'email', autocomplete: 'off' }), 'With it, others find this user for a share.'),
    h('label', { class: 'check' }, h('input', { type: 'checkbox', name: 'discoverable', checked: true }), 'Others can find this user'),
  ], 'Create', data => {
    const text = name => String(data.get(name) ?? '').trim() || undefined
    return administration.createUser({ givenName: text('givenName'), familyName: text('familyName'), emailAddress: text('emailAddress'), discoverable: data.has('discoverable') })
  })
  if (user) await loadUsers()
  return user
}

/** @param {string} as */
export const actAs = as => show({ as: as === session.userRecordName ? '' : as, record: '' })

/** @param {Element} anchor */
export function openActing(anchor) {
  const others = session.identities.filter(identity => !session.users.some(user => user.userRecordName === actingUser(identity.value)))
  openMenu(anchor, 'Act as', [
    ...session.users.map(user => ({ text: identityName(user.userRecordName), note: user.userRecordName === session.userRecordName ? 'default' : user.emailAddress, icon: 'person', checked: actingUser() === user.userRecordName, act: () => actAs(user.userRecordName) })),
    session.canAdminister && { text: 'New user …', icon: 'plus', act: async () => { const user = await createUser(); if (user) actAs(user.userRecordName) } },
    session.users.length > 0 && others.length > 0 && 'line',
    ...others.map((identity, index) => ({ text: identity.title, note: identity.databases.join(', '), icon: identity.value === 'nobody' ? 'close' : identity.value === 'server' ? 'code' : 'person', checked: view.as ? view.as === identity.value : !session.users.length && index === 0, act: () => actAs(identity.value === session.identities[0].value ? '' : identity.value) })),
  ])
}

/** Colours the frame, and returns the strip with the name. */
export function actingStrip() {
  const isOther = view.as !== '' && view.as !== session.userRecordName
  const isProduction = view.environment === 'production'
  document.body.dataset.acting = isOther ? hue(view.as) : ''
  document.body.classList.toggle('production', isProduction)
  const strip = h('aside', { class: 'strip', hidden: !isOther && !(isProduction && session.service === 'cloudKit') && !session.readOnly, 'aria-label': 'Who acts here', 'aria-live': 'polite' })
  if (isOther) fill(strip, icon('person'), h('span', null, 'Acting as ', h('strong', null, identityName(view.as))), button('Stop', () => show({ as: '', record: '' }), { kind: 'strip-button' }))
  else if (session.readOnly) fill(strip, h('span', null, h('strong', null, 'Read only'), isProduction ? ' on production' : ''))
  else fill(strip, h('span', null, h('strong', null, 'Production'), ': what you write here is what people have'))
  strip.classList.toggle('danger', !isOther && isProduction)
  return strip
}
