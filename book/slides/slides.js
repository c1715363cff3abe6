// The deck: a size that projectors have, and the clock of the whole lesson for the speaker's view.
const seconds = [...document.querySelectorAll("section[data-timing]")]
  .reduce((sum, slide) => sum + Number(slide.dataset.timing), 0);
Reveal.initialize({
  hash: true, width: 1280, height: 720, margin: 0.05, transition: "none", display: "flex", center: false,
  slideNumber: "c/t", controlsTutorial: false, totalTime: seconds, plugins: [RevealNotes],
});
