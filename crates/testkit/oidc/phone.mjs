// Answers a question of an agent with a real browser of a phone's size: headless Chromium opens the page, signs in and
// presses the button of an option. Argument, as JSON: url, name, password, button (its text), profile (an empty folder),
// language, screenshots (a folder; optional), fields (values of a form by label; optional), shown and done (selectors of what the page
// has before and after the answer; optional). Prints what the page showed before and after the answer, its layout, and where a frame
// with the page ended up, as one line of JSON.
import { existsSync } from 'node:fs';
import { chromium } from 'playwright-core';

const programs = ['/usr/bin/chromium', '/usr/bin/google-chrome'];
const { url, name, password, button, profile, language, screenshots, fields = {}, shown, done } = JSON.parse(process.argv[2]);
const form = 'form input[name=digest]';
const context = await chromium.launchPersistentContext(profile, {
  executablePath: programs.find((program) => existsSync(program)),
  headless: true,
  viewport: { width: 390, height: 844 },
  locale: language,
  args: [
    '--no-sandbox',
    '--disable-gpu',
    '--disable-quic',
    '--no-first-run',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
  ],
});

async function layout(page) {
  return page.evaluate(() => {
    const heights = [...document.querySelectorAll('button, label.choice, input[type=text], input[type=password], a')]
      .map((element) => element.getBoundingClientRect().height);
    return {
      lowest: Math.min(...heights),
      overflow: document.documentElement.scrollWidth - document.documentElement.clientWidth,
      lang: document.documentElement.lang,
      styled: getComputedStyle(document.body).maxWidth !== 'none',
      headings: [...document.querySelectorAll('h1, h2, h3')].map((heading) => heading.tagName),
    };
  });
}

// Fills in a field of the form as a person does: found by its label.
async function fillIn(page, label, value) {
  const field = page.getByLabel(label);
  const kind = await field.evaluate((element) => (element.tagName === 'SELECT' ? 'select' : element.type));
  if (kind === 'select') await field.selectOption({ label: value });
  else if (kind === 'checkbox') await field.setChecked(value);
  else await field.fill(value);
}

async function screenshot(page, file) {
  if (screenshots) await page.screenshot({ path: `${screenshots}/${file}.png`, fullPage: true });
}

try {
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  const complaints = [];
  page.on('console', (message) => complaints.push(message.text()));
  page.on('pageerror', (error) => complaints.push(String(error)));
  await page.goto(url);
  await screenshot(page, 'sign-in');
  const signIn = await layout(page);
  await page.fill('input[name=name]', name);
  await page.fill('input[name=password]', password);
  await page.click('form button');
  await page.waitForSelector(shown ?? form, { state: 'attached' });
  const [address, before, question] = [page.url(), await page.innerText('main'), await layout(page)];
  await screenshot(page, 'question');
  await page.emulateMedia({ colorScheme: 'dark' });
  await screenshot(page, 'question-dark');
  for (const [label, value] of Object.entries(fields)) await fillIn(page, label, value);
  // With the keyboard, as a person without a pointer does.
  await page.focus(`button:text-is("${button}")`);
  await page.keyboard.press('Enter');
  if (done) await page.waitForSelector(done, { state: 'attached' });
  else await page.waitForSelector(form, { state: 'detached' });
  const [after, outcome] = [await page.innerText('main'), await layout(page)];
  await screenshot(page, 'outcome');
  const finalAddress = page.url();
  const found = [...complaints];
  // A page of another site that shows this one in a frame.
  await page.goto('about:blank');
  await page.setContent(`<iframe src="${url}"></iframe>`, { waitUntil: 'load' });
  const framed = page.frames().at(-1).url();
  console.log(JSON.stringify({ address, before, after, finalAddress, layouts: [signIn, question, outcome], complaints: found, framed }));
} finally {
  await context.close();
}
