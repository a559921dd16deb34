// Prevents accidental decisions.
/** Buttons that decide work only after they were visible for a moment, and once in this time. */
const SETTLE_MS = 700;
const SENT_MS = 5000;

/** The ends of all that is decided on. A preview is not, and neither is what is folded. */
const endsOfCall = () =>
  [...document.querySelectorAll('.json > .end')].filter((one) => !one.closest('details:not([open])'));

/** Calls `read` when each of these was on screen, which the bar with the buttons does not cover. */
function whenSeen(ends, bar, read) {
  const unseen = new Set(ends);
  if (unseen.size === 0) return read();
  const observer = new IntersectionObserver(
    (entries) => {
      for (const { target, isIntersecting } of entries) if (isIntersecting) unseen.delete(target);
      if (unseen.size > 0) return;
      observer.disconnect();
      read();
    },
    { rootMargin: `0px 0px ${-(bar?.offsetHeight ?? 0)}px 0px` },
  );
  for (const end of ends) observer.observe(end);
}

/** Guards the buttons of one form. Not all forms have a hint about reading. */
function guard(form) {
  const buttons = [...form.querySelectorAll('button')];
  const hints = [...form.querySelectorAll('[data-unread]')];
  const [first] = buttons;
  if (first === undefined) return;
  let isSettled = false;
  let isRead = false;
  let timer;
  const update = () => {
    // An approval requires that the whole call was on screen. A denial does not.
    for (const button of buttons) button.disabled = !isSettled || (button.value === 'approve' && !isRead);
    for (const hint of hints) hint.hidden = isRead;
  };
  const settle = (afterMs) => {
    clearTimeout(timer);
    isSettled = false;
    if (afterMs !== undefined) {
      timer = setTimeout(() => {
        isSettled = true;
        update();
      }, afterMs);
    }
    update();
  };
  whenSeen(endsOfCall(), form.querySelector('.decide-bar'), () => {
    isRead = true;
    update();
  });
  settle();
  new IntersectionObserver((entries) => {
    settle(entries.some((entry) => entry.isIntersecting) ? SETTLE_MS : undefined);
  }).observe(first);
  // Otherwise keyboard users would skip the buttons, which are disabled while they are out of sight.
  form.addEventListener('focusin', () => first.scrollIntoView({ block: 'nearest' }));
  // After this event, so that the pressed button's value is sent. Without an answer, the buttons become usable again.
  form.addEventListener('submit', () => setTimeout(() => settle(SENT_MS)));
}

const guarded = new WeakSet();

function guardForms() {
  for (const form of document.querySelectorAll('form[data-decides]')) {
    if (guarded.has(form)) continue;
    guarded.add(form);
    try {
      guard(form);
    } catch (error) {
      // The guard only helps, and the service decides. Without it, the form works as without this script.
      for (const button of form.querySelectorAll('button')) button.disabled = false;
      reportError(error);
    }
  }
}
guardForms();
addEventListener('drawn', guardForms);
